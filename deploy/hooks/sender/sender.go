// Package sender signs deliveries as those do for whom the gateway has presets. It is written from what they document and shares no
// code with the gateway, so that tests hold one against the other.
package sender

import (
	"bytes"
	"iter"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Sender is a third party.
type Sender struct {
	Name      string // of the way in which it signs
	Preset    string // of the gateway
	Secret    string // as the sender shows it; empty for one that has only a public key
	PublicKey string
	Token     string // a second secret that a challenge names; empty for none
	Runs      int    // how many runs a delivery starts
	Dated     bool   // a delivery says when it was sent
	SignsURL  bool

	body   func(n int, at time.Time) string
	header map[string]string // besides those that prove who sends
	dedupe string            // the header with the id of a delivery; empty for none
	sign   func(s Sender, d *Delivery, at time.Time)
}

// Delivery is a request as a sender makes it.
type Delivery struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte

	proof      []string // headers that prove who sends, or are signed
	signsBody  bool
	bodySecret string // stands in the body and proves who sends; empty for none
}

// Deliver makes delivery number n to an address.
func (s Sender) Deliver(address string, n int, at time.Time) Delivery {
	d := Delivery{Method: http.MethodPost, URL: address, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(s.body(n, at)), signsBody: true}
	for name, value := range s.header {
		d.Header.Set(name, value)
	}
	if s.dedupe != "" {
		d.Header.Set(s.dedupe, id(s.Name, n))
	}
	s.sign(s, &d, at)
	return d
}

// Clone copies a delivery.
func (d Delivery) Clone() Delivery {
	d.Header, d.Body = d.Header.Clone(), bytes.Clone(d.Body)
	return d
}

// Alterations are the delivery with one byte changed: each of the body, of the headers that count, and of the address behind its
// origin where that is signed. Each must be refused.
func (s Sender) Alterations(d Delivery) iter.Seq2[string, Delivery] {
	return func(yield func(string, Delivery) bool) {
		from, to := 0, len(d.Body)
		if !d.signsBody {
			from = bytes.Index(d.Body, []byte(d.bodySecret))
			to = from + len(d.bodySecret)
		}
		for i := from; i < to; i++ {
			altered := d.Clone()
			altered.Body[i] ^= 1
			if !yield("the body", altered) {
				return
			}
		}
		for _, name := range d.proof {
			for i := range len(d.Header.Get(name)) {
				altered := d.Clone()
				altered.Header.Set(name, flip(d.Header.Get(name), i))
				if !yield(name, altered) {
					return
				}
			}
		}
		if s.SignsURL {
			for i := range flippable(d.URL) {
				altered := d.Clone()
				altered.URL = flip(d.URL, i)
				if !yield("the address", altered) {
					return
				}
			}
		}
	}
}

func flip(text string, i int) string {
	b := []byte(text)
	b[i] ^= 1
	return string(b)
}

// flippable are places of the query that stay in it: what stands before leads elsewhere.
func flippable(address string) iter.Seq[int] {
	return func(yield func(int) bool) {
		query := strings.IndexByte(address, '?')
		for i := query + 1; query >= 0 && i < len(address); i++ {
			if c := address[i] ^ 1; c != '#' && c != '%' && c > ' ' && !yield(i) {
				return
			}
		}
	}
}

// Proof are the headers that prove who sends, or are signed.
func (d Delivery) Proof() []string { return d.proof }

// Sign makes a delivery of another body, with more headers.
func (s Sender) Sign(address, body string, header map[string]string, at time.Time) Delivery {
	s.body = func(int, time.Time) string { return body }
	all := maps.Clone(s.header)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, header)
	s.header = all
	return s.Deliver(address, 0, at)
}
