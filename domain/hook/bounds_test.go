package hook_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain/hook"
)

func senderOf(t testing.TB, name string) sender.Sender {
	t.Helper()
	for _, s := range sender.All() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no sender %s", name)
	return sender.Sender{}
}

func TestUpToSixteenSignaturesAreTried(t *testing.T) {
	s := senderOf(t, "paddle")
	for n, want := range map[int]hook.Reason{15: "", 16: hook.SignatureMalformed} {
		d := s.Deliver(address, 1, noon)
		d.Header.Set("Paddle-Signature", d.Header.Get("Paddle-Signature")+strings.Repeat(";h1=a", n))
		if got := presetOf(t, s).Verify([]hook.Secret{secretOf(t, s)}, requestOf(t, d), noon); got.Reason != want {
			t.Errorf("%d more give %+v", n, got)
		}
	}
}

// The table of HubSpot's "Validate the v3 request signature".
func TestEachEscapeThatHubSpotResolves(t *testing.T) {
	s := senderOf(t, "hubspot")
	for escape, character := range map[string]string{
		"%3A": ":", "%2F": "/", "%3F": "?", "%40": "@", "%21": "!", "%24": "$", "%27": "'", "%28": "(", "%29": ")", "%2A": "*", "%2C": ",", "%3B": ";",
		"%20": "%20", "%26": "%26", "%3D": "%3D",
	} {
		d := s.Deliver("https://hooks.example.com/h/t?a="+character, 1, noon)
		d.URL = "https://hooks.example.com/h/t?a=" + escape
		if got := presetOf(t, s).Verify([]hook.Secret{secretOf(t, s)}, requestOf(t, d), noon); !got.Verified {
			t.Errorf("%s: %+v", escape, got)
		}
	}
}

func TestASignedHeaderIsThereOnce(t *testing.T) {
	s := scheme(t, `{"kind":"hmac","algorithm":"sha1","header":"X-Sig","encoding":"hex","signed":"{header:X-Topic}{body}"}`)
	r := post(address, "{}", map[string]string{"x-sig": mac1("a key of it", "a{}"), "x-topic": "a"})
	secrets := []hook.Secret{hook.NewText("its", "a key of it")}
	if got := s.Verify(secrets, r, noon); !got.Verified {
		t.Errorf("once: %+v", got)
	}
	r.Headers["x-topic"] = []string{"a", "b"}
	if got := s.Verify(secrets, r, noon); got.Reason != hook.SignedPartMissing {
		t.Errorf("twice: %+v", got)
	}
}

func TestAChallengeIsOfOneForm(t *testing.T) {
	for claim, c := range map[string]struct {
		name string
		r    hook.Request
	}{
		"two challenges of dropbox":    {"dropbox", hook.Request{Method: "GET", Query: "challenge=a&challenge=b"}},
		"a challenge that is posted":   {"dropbox", hook.Request{Method: "POST", Query: "challenge=a"}},
		"a subscription that is sent":  {"meta", hook.Request{Method: "POST", Query: "hub.mode=subscribe&hub.challenge=1&hub.verify_token=a+token+to+verify"}},
		"another mode":                 {"meta", hook.Request{Method: "GET", Query: "hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=a+token+to+verify"}},
		"a token that is asked for":    {"microsoft-graph", hook.Request{Method: "GET", Query: "validationToken=a"}},
		"a query that cannot be read":  {"microsoft-graph", hook.Request{Method: "POST", Query: "validationToken=%zz"}},
		"two tokens of somebody's own": {"meta", hook.Request{Method: "GET", Query: "hub.mode=subscribe&hub.challenge=1&hub.verify_token=a&hub.verify_token=a+token+to+verify"}},
	} {
		s := senderOf(t, c.name)
		secrets := []hook.Secret{secretOf(t, s), hook.NewText("token", "a token to verify")}
		if got := presetOf(t, s).Verify(secrets, c.r, noon); got.Verified || got.Challenge != nil {
			t.Errorf("%s: %+v", claim, got)
		}
	}
}

func TestTheTokenOfTheAddressIsNotKeptWithADelivery(t *testing.T) {
	for _, s := range sender.All() {
		r := requestOf(t, s.Deliver(address, 1, noon))
		kept := presetOf(t, s).Keep(nil, r)
		if kept.Token != "" || !s.SignsURL && kept.Address != "" {
			t.Errorf("%s: %q %q", s.Name, kept.Token, kept.Address)
		}
	}
}

// A key that is given in bytes is one, whatever its bytes spell.
func TestAKeyInBytesIsTakenAsItIs(t *testing.T) {
	s := senderOf(t, "standard")
	r := requestOf(t, s.Deliver(address, 1, noon))
	if got := presetOf(t, s).Verify([]hook.Secret{hook.NewKey("its", []byte(s.Secret))}, r, noon); got.Verified {
		t.Errorf("the text as bytes: %+v", got)
	}
	decoded := []byte("1\xf2\x90\xf6\xbf\x06)\x8a\xab\x4f\x08\xd4\x3c\x3f\x08,\xf6H\xa3b\xda-\xa4\xb0")
	if got := presetOf(t, s).Verify([]hook.Secret{hook.NewKey("its", decoded)}, r, noon); !got.Verified {
		t.Errorf("its bytes: %+v", got)
	}
}
