package run

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Link names what the page for one answer is about: a node of a run, which may not have asked yet.
type Link struct {
	Tenant tenant.ID
	Run    ID
	Node   workflow.NodeID

	Simulated bool // the run is one of a simulation: nobody will be asked
}

// LinkPath is where the pages for one answer are, below the address of the gateway; a link's token
// follows.
const LinkPath = "/a/"

// maxLink bounds a token that is read, in characters.
const maxLink = 2048

// What a link is written with: the last part is there in a simulation only.
const linkSeparator, simulatedLink = "\x00", "simulated"

// LinkToken is what opens the page: the link itself and an HMAC-SHA256 of it under the secret of
// its run, in base64url with a full stop between. Without a key there is none.
func (k Key) LinkToken(l Link) string {
	if k == (Key{}) {
		return ""
	}
	text := strings.Join([]string{string(l.Tenant), string(l.Run), string(l.Node)}, linkSeparator)
	if l.Simulated {
		text += linkSeparator + simulatedLink
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + base64.RawURLEncoding.EncodeToString(k.signLink(l.Run, text))
}

// signLink differs from what makes resume tokens, so that neither is taken for the other.
func (k Key) signLink(id ID, text string) []byte {
	secret := k.Secret(id)
	mac := hmac.New(sha256.New, secret[:])
	mac.Write([]byte("link" + linkSeparator + text))
	return mac.Sum(nil)
}

// ReadLink reads a token; ok is false for one that the key did not make.
func (k Key) ReadLink(token string) (l Link, ok bool) {
	written, signature, cut := strings.Cut(token, ".")
	if k == (Key{}) || !cut || len(token) > maxLink {
		return Link{}, false
	}
	encoding := base64.RawURLEncoding.Strict()
	text, err := encoding.DecodeString(written)
	if err != nil {
		return Link{}, false
	}
	mac, err := encoding.DecodeString(signature)
	if err != nil {
		return Link{}, false
	}
	written, simulated := strings.CutSuffix(string(text), linkSeparator+simulatedLink)
	parts := strings.SplitN(written, linkSeparator, 3)
	if len(parts) != 3 || !hmac.Equal(mac, k.signLink(ID(parts[1]), string(text))) {
		return Link{}, false
	}
	return Link{Tenant: tenant.ID(parts[0]), Run: ID(parts[1]), Node: workflow.NodeID(parts[2]), Simulated: simulated}, true
}

// Links are the addresses of the pages for one answer.
type Links struct {
	Key  Key
	Base func() string // the address of the gateway, which is known once it listens
}

// Of is the address of the page that a link leads to.
func (l Links) Of(to Link) string {
	return strings.TrimRight(l.Base(), "/") + LinkPath + l.Key.LinkToken(to)
}

// linkShape fits tokens: what they begin with is the prefix of the ids of tenants in base64url.
var linkShape = regexp.MustCompile(linkMark + `[0-9A-Za-z_-]+\.[0-9A-Za-z_-]{43}`)

const (
	linkMark   = "dGVuYW50X"
	hiddenLink = "[redacted]"
)

// WithoutLinks is the run for somebody who may not answer: without the tokens that link() put into
// what nodes gave and what is asked.
func (r *Run) WithoutLinks() *Run {
	s := r.state.clone()
	s.Payload, s.Item, s.Outer, s.Failure = hideLinks(s.Payload), hideLinks(s.Item), hideLinks(s.Outer), s.Failure.withoutLinks()
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Output, n.Failure = hideLinks(n.Output), n.Failure.withoutLinks()
		if n.Pause != nil {
			p := *n.Pause
			p.Question, n.Pause = p.Question.withoutLinks(), &p
		}
	}
	return Restore(s)
}

// WithoutLinks is the entry for somebody who may not answer.
func (e Entry) WithoutLinks() Entry {
	e.Message, e.Question, e.Log = hideLinksIn(e.Message), e.Question.withoutLinks(), HideLinks(e.Log)
	return e
}

// WithoutLinks is the summary for somebody who may not answer.
func (s Summary) WithoutLinks() Summary {
	s.Failure = s.Failure.withoutLinks()
	return s
}

// WithoutLinks is the question for somebody who may not answer it.
func (p OpenPause) WithoutLinks() OpenPause {
	p.Question = p.Question.withoutLinks()
	return p
}

// WithoutLinks is the input for somebody who may not answer.
func (s ShownInput) WithoutLinks() ShownInput {
	s.Input = hideLinks(s.Input)
	return s
}

// HideLinks leaves them out of the lines of a log.
func HideLinks(lines []string) []string {
	if !slices.ContainsFunc(lines, linkShape.MatchString) {
		return lines
	}
	hidden := make([]string, len(lines))
	for i, line := range lines {
		hidden[i] = hideLinksIn(line)
	}
	return hidden
}

func (q *Question) withoutLinks() *Question {
	if q == nil {
		return nil
	}
	hidden := *q
	hidden.Title, hidden.Prompt, hidden.Assignee = hideLinksIn(q.Title), hideLinksIn(q.Prompt), hideLinksIn(q.Assignee)
	return &hidden
}

func (f *Failure) withoutLinks() *Failure {
	if f == nil {
		return nil
	}
	hidden := *f
	hidden.Message = hideLinksIn(f.Message)
	return &hidden
}

func hideLinksIn(text string) string { return linkShape.ReplaceAllString(text, hiddenLink) }

func hideLinks(text json.RawMessage) json.RawMessage {
	if !bytes.Contains(text, []byte(linkMark)) {
		return text
	}
	return linkShape.ReplaceAll(text, []byte(hiddenLink))
}
