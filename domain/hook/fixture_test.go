package hook_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

// noon is when everything is received.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const address = "https://hooks.example.com/h/token-of-an-address?shop=1"

// scheme reads one that must be valid.
func scheme(t testing.TB, text string) hook.Scheme {
	t.Helper()
	var r domain.Rules
	s := hook.ParseScheme(&r, "scheme", []byte(text))
	if found := r.Violations(); len(found) > 0 {
		t.Fatalf("%s: %v", text, found)
	}
	return s
}

func presetOf(t testing.TB, s sender.Sender) hook.Scheme {
	t.Helper()
	return scheme(t, `{"preset": "`+s.Preset+`"}`)
}

func publicKey(t testing.TB, source, text string) hook.Secret {
	t.Helper()
	secret, err := hook.NewPublicKey(source, text)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// secretOf is what the customer of a sender told the gateway.
func secretOf(t testing.TB, s sender.Sender) hook.Secret {
	t.Helper()
	if s.PublicKey != "" {
		return publicKey(t, "its", s.PublicKey)
	}
	return hook.NewText("its", s.Secret)
}

// requestOf is the delivery as the gateway receives it.
func requestOf(t testing.TB, d sender.Delivery) hook.Request {
	t.Helper()
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	origin := u.Scheme + "://" + u.Host
	return hook.Request{
		Method: d.Method, Origin: origin, Address: strings.TrimPrefix(d.URL, origin), Token: strings.TrimPrefix(u.Path, "/h/"), Query: u.RawQuery,
		Headers: hook.ReadHeaders(d.Header), Body: d.Body, At: noon,
	}
}

// post is a request with a body and headers of one value each.
func post(at, body string, headers map[string]string) hook.Request {
	origin, rest, _ := strings.Cut(strings.TrimPrefix(at, "https://"), "/")
	_, query, _ := strings.Cut(rest, "?")
	r := hook.Request{Method: "POST", Origin: "https://" + origin, Address: "/" + rest, Query: query, Body: []byte(body), Headers: hook.Headers{}, At: noon}
	for name, value := range headers {
		r.Headers[strings.ToLower(name)] = []string{value}
	}
	return r
}

func mac1(key, signed string) string {
	mac := hmac.New(sha1.New, []byte(key))
	mac.Write([]byte(signed))
	return hex.EncodeToString(mac.Sum(nil))
}

func mac512(key, signed string) string {
	mac := hmac.New(sha512.New, []byte(key))
	mac.Write([]byte(signed))
	return base64.URLEncoding.EncodeToString(mac.Sum(nil))
}
