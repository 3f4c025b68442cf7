package hook_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain/hook"
)

func TestEveryPresetHasASender(t *testing.T) {
	missing := map[hook.Preset]bool{}
	for _, p := range hook.Presets() {
		missing[p] = true
	}
	for _, s := range sender.All() {
		delete(missing, hook.Preset(s.Preset))
	}
	if len(missing) > 0 || len(hook.Presets()) != 16 {
		t.Errorf("%d presets, without a sender: %v", len(hook.Presets()), missing)
	}
}

func TestADeliveryIsRefusedWithAnyByteChanged(t *testing.T) {
	for _, s := range sender.All() {
		scheme, secrets := presetOf(t, s), []hook.Secret{hook.NewText("another", "another secret"), secretOf(t, s)}
		genuine := s.Deliver(address, 7, noon)
		if got := scheme.Verify(secrets, requestOf(t, genuine), noon); !got.Verified || got.Secret != "its" || got.Challenge != nil {
			t.Errorf("%s: a genuine delivery gives %+v", s.Name, got)
		}
		tried := 0
		for what, altered := range s.Alterations(genuine) {
			tried++
			if got := scheme.Verify(secrets, requestOf(t, altered), noon); got.Verified || got.Reason == "" {
				t.Errorf("%s: with a byte of %s changed it gives %+v:\n%s\n%v", s.Name, what, got, altered.Body, altered.Header)
			}
		}
		if tried < 20 {
			t.Errorf("%s: only %d alterations", s.Name, tried)
		}
	}
}

func TestADeliveryIsRefusedAtAnotherAddressWhereItIsSigned(t *testing.T) {
	for _, s := range sender.All() {
		scheme, secrets := presetOf(t, s), []hook.Secret{secretOf(t, s)}
		r := requestOf(t, s.Deliver(address, 1, noon))
		if scheme.SignsAddress() != s.SignsURL {
			t.Errorf("%s: SignsAddress gives %v", s.Name, scheme.SignsAddress())
		}
		r.Address = strings.Replace(r.Address, "/h/token", "/h/t0ken", 1)
		if got := scheme.Verify(secrets, r, noon).Verified; got == s.SignsURL {
			t.Errorf("%s: at another token verified is %v", s.Name, got)
		}
		behindProxy := requestOf(t, s.Deliver(address, 1, noon))
		behindProxy.Headers["host"] = []string{"10.0.0.7:8080"}
		behindProxy.Headers["x-forwarded-host"] = []string{"elsewhere.example"}
		if got := scheme.Verify(secrets, behindProxy, noon); !got.Verified {
			t.Errorf("%s: behind a proxy it gives %+v", s.Name, got)
		}
	}
}

func TestTheAgeOfADelivery(t *testing.T) {
	for _, s := range sender.All() {
		scheme, secrets := presetOf(t, s), []hook.Secret{secretOf(t, s)}
		tolerance := 5 * time.Minute
		if s.Preset == "linear" {
			tolerance = time.Minute
		}
		r := requestOf(t, s.Deliver(address, 1, noon))
		for _, check := range []struct {
			at   time.Time
			want hook.Reason
		}{
			{noon.Add(tolerance), ""},
			{noon.Add(tolerance + time.Second), hook.TimestampTooOld},
			{noon.Add(-tolerance), ""},
			{noon.Add(-tolerance - time.Second), hook.TimestampInFuture},
			{noon.AddDate(1, 0, 0), hook.TimestampTooOld},
		} {
			want := check.want
			if !s.Dated {
				want = ""
			}
			if got := scheme.Verify(secrets, r, check.at); got.Reason != want || got.Verified != (want == "") {
				t.Errorf("%s: received %s after it was sent gives %+v, want %q", s.Name, check.at.Sub(noon), got, want)
			}
		}
		if kept := scheme.Keep(secrets, r); !scheme.VerifyKept(secrets, kept).Verified {
			t.Errorf("%s: what is kept gives %+v", s.Name, scheme.VerifyKept(secrets, kept))
		}
	}
}

func TestAKeptDeliveryIsVerifiedAgain(t *testing.T) {
	for _, s := range sender.All() {
		scheme, secrets := presetOf(t, s), []hook.Secret{secretOf(t, s)}
		if !scheme.Signs() || s.Name == "gitlab token" {
			continue // its secret is not kept with it
		}
		kept := scheme.Keep(secrets, requestOf(t, s.Deliver(address, 1, noon)))
		kept.Body = append([]byte(" "), kept.Body...)
		if got := scheme.VerifyKept(secrets, kept); got.Verified {
			t.Errorf("%s: with another body it gives %+v", s.Name, got)
		}
	}
}

func TestEachOfSeveralSecretsVerifies(t *testing.T) {
	for _, s := range sender.All() {
		scheme, old := presetOf(t, s), secretOf(t, s)
		r := requestOf(t, s.Deliver(address, 1, noon))
		fresh := hook.NewText("new", "the secret that comes next")
		for claim, secrets := range map[string][]hook.Secret{"first": {old, fresh}, "last": {fresh, old}} {
			if got := scheme.Verify(secrets, r, noon); !got.Verified || got.Secret != "its" {
				t.Errorf("%s: the %s of two gives %+v", s.Name, claim, got)
			}
		}
		if got := scheme.Verify([]hook.Secret{fresh}, r, noon); got.Verified {
			t.Errorf("%s: another secret gives %+v", s.Name, got)
		}
		for claim, secrets := range map[string][]hook.Secret{"no secret": nil, "an empty secret": {hook.NewText("empty", "")}} {
			if got := scheme.Verify(secrets, r, noon); got.Verified || got.Reason != hook.SecretMissing {
				t.Errorf("%s: %s gives %+v", s.Name, claim, got)
			}
		}
	}
}

// A public key is known to everybody: as the key of an HMAC it would let everybody sign.
func TestAPublicKeyIsNoKeyOfAnHMAC(t *testing.T) {
	s := scheme(t, `{"preset": "github"}`)
	key := publicKey(t, "its", "whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g=")
	r := post(address, "{}", map[string]string{"x-hub-signature-256": "sha256=" + strings.Repeat("0", 64)})
	if got := s.Verify([]hook.Secret{key}, r, noon); got.Verified || got.Reason != hook.SecretMissing {
		t.Errorf("got %+v", got)
	}
}

func TestHeadersThatAreMissingOrRepeated(t *testing.T) {
	for _, s := range sender.All() {
		scheme, secrets := presetOf(t, s), []hook.Secret{secretOf(t, s)}
		d := s.Deliver(address, 1, noon)
		for _, name := range d.Proof() {
			without, twice, empty := d.Clone(), d.Clone(), d.Clone()
			without.Header.Del(name)
			twice.Header.Add(name, d.Header.Get(name))
			empty.Header.Set(name, "")
			for claim, altered := range map[string]sender.Delivery{"missing": without, "repeated": twice, "empty": empty} {
				if got := scheme.Verify(secrets, requestOf(t, altered), noon); got.Verified {
					t.Errorf("%s: with %s %s it gives %+v", s.Name, name, claim, got)
				}
			}
		}
	}
}

func TestSeveralSignatures(t *testing.T) {
	wrong := strings.Repeat("a", 64)
	for _, s := range sender.All() {
		var header, before, after string
		switch s.Name {
		case "stripe":
			header, before, after = "Stripe-Signature", "v1="+wrong+",", ",v0="+wrong+",v1="+wrong
		case "paddle":
			header, before, after = "Paddle-Signature", "h1="+wrong+";", ";h2="+wrong
		case "standard":
			header, before, after = "Webhook-Signature", "v1,"+wrong+" v2,x ", " v1a,AAAA"
		default:
			continue
		}
		d := s.Deliver(address, 1, noon)
		d.Header.Set(header, before+d.Header.Get(header)+after)
		if got := presetOf(t, s).Verify([]hook.Secret{secretOf(t, s)}, requestOf(t, d), noon); !got.Verified {
			t.Errorf("%s: %s gives %+v", s.Name, d.Header.Get(header), got)
		}
		d.Header.Set(header, d.Header.Get(header)+strings.Repeat(after, 100))
		if got := presetOf(t, s).Verify([]hook.Secret{secretOf(t, s)}, requestOf(t, d), noon); got.Reason != hook.SignatureMalformed {
			t.Errorf("%s: hundreds of signatures give %+v", s.Name, got)
		}
	}
}

// Stripe's header names the time once: with two of them, which one was signed would be open.
func TestATimeIsNamedOnce(t *testing.T) {
	for _, s := range sender.All() {
		if s.Name != "stripe" {
			continue
		}
		d := s.Deliver(address, 1, noon)
		d.Header.Set("Stripe-Signature", d.Header.Get("Stripe-Signature")+",t=1")
		if got := presetOf(t, s).Verify([]hook.Secret{secretOf(t, s)}, requestOf(t, d), noon); got.Reason != hook.TimestampMalformed {
			t.Errorf("got %+v", got)
		}
	}
}

func TestTwilioCoversWhateverItSends(t *testing.T) {
	for _, s := range sender.All() {
		if s.Preset != "twilio" {
			continue
		}
		preset, secrets := presetOf(t, s), []hook.Secret{secretOf(t, s)}
		for claim, change := range map[string]func(*sender.Delivery){
			"JSON in place of the form":    func(d *sender.Delivery) { d.Header.Set("Content-Type", "application/json"); d.Body = []byte(`{"a":1}`) },
			"bytes in place of what it is": func(d *sender.Delivery) { d.Header.Del("Content-Type"); d.Body = []byte("a") },
			"a form in place of JSON":      func(d *sender.Delivery) { d.Header.Set("Content-Type", form); d.Body = []byte("a=1") },
			"a part of a form": func(d *sender.Delivery) {
				d.Header.Set("Content-Type", "multipart/form-data; boundary=b")
				d.Body = []byte("--b--")
			},
		} {
			d := s.Deliver(address, 1, noon)
			change(&d)
			if got := preset.Verify(secrets, requestOf(t, d), noon); got.Verified {
				t.Errorf("%s: %s gives %+v", s.Name, claim, got)
			}
		}
	}
}

func TestHubSpotSignsADecodedAddress(t *testing.T) {
	for _, s := range sender.All() {
		if s.Preset != "hubspot" {
			continue
		}
		d := s.Deliver("https://hooks.example.com/h/t?to=a@b:c%20d", 1, noon)
		d.URL = "https://hooks.example.com/h/t?to=a%40b%3Ac%20d"
		if got := presetOf(t, s).Verify([]hook.Secret{secretOf(t, s)}, requestOf(t, d), noon); !got.Verified {
			t.Errorf("got %+v", got)
		}
	}
}

func TestKindsThatClientsDescribe(t *testing.T) {
	const key = "a key of the sender"
	at := map[string]string{"x-time": "1772366400000", "x-id": "d-1", "x-topic": "a"}
	secrets := []hook.Secret{hook.NewText("its", key)}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range []map[string]string{at, more} {
			for name, value := range m {
				all[name] = value
			}
		}
		return all
	}
	query := post(address+"&key=a+key+of%20the+sender", "{}", nil)
	for claim, c := range map[string]struct {
		scheme string
		r      hook.Request
		want   hook.Reason
	}{
		"an HMAC over everything": {
			`{"kind":"hmac","algorithm":"sha512","header":"X-Sig","encoding":"base64url","prefix":"v=","signed":"{id}|{method}|{url}|{header:X-Topic}|{timestamp}|{body}","timestampHeader":"X-Time","timestampUnit":"milliseconds","idHeader":"X-Id"}`,
			post(address, "{}", with(map[string]string{"x-sig": "v=" + mac512(key, "d-1|POST|"+address+"|a|1772366400000|{}")})), "",
		},
		"a hexadecimal signature in capitals": {
			`{"kind":"hmac","algorithm":"sha1","header":"X-Sig","encoding":"hex","signed":"{body}"}`,
			post(address, "{}", map[string]string{"x-sig": strings.ToUpper(mac1(key, "{}"))}), "",
		},
		"a signed header that is missing": {
			`{"kind":"hmac","algorithm":"sha1","header":"X-Sig","encoding":"hex","signed":"{header:X-Topic}{body}"}`,
			post(address, "{}", map[string]string{"x-sig": mac1(key, "{}")}), hook.SignedPartMissing,
		},
		"a secret in a header": {`{"kind":"secretHeader","header":"X-Key"}`, post(address, "{}", map[string]string{"x-key": key}), ""},
		"a secret behind a word": {
			`{"kind":"secretHeader","header":"Authorization","prefix":"Token "}`, post(address, "{}", map[string]string{"authorization": "Token " + key}), "",
		},
		"a wrong secret in a header": {`{"kind":"secretHeader","header":"X-Key"}`, post(address, "{}", map[string]string{"x-key": key + "s"}), hook.SignatureMismatch},
		"a token":                    {`{"kind":"bearer"}`, post(address, "{}", map[string]string{"authorization": "bearer " + key}), ""},
		"a token under another word": {`{"kind":"bearer"}`, post(address, "{}", map[string]string{"authorization": "Basic " + key}), hook.SignatureMalformed},
		"no token":                   {`{"kind":"bearer"}`, post(address, "{}", nil), hook.SignatureMissing},
		"a secret in the address":    {`{"kind":"urlSecret","parameter":"key"}`, query, ""},
		"no secret in the address":   {`{"kind":"urlSecret","parameter":"key"}`, post(address, "{}", nil), hook.SignatureMissing},
		"two secrets in the address": {`{"kind":"urlSecret","parameter":"key"}`, post(address+"&key=a&key=b", "{}", nil), hook.SignatureRepeated},
		"nothing":                    {`{"kind":"none"}`, post(address, "{}", nil), ""},
	} {
		if got := scheme(t, c.scheme).Verify(secrets, c.r, noon); got.Reason != c.want || got.Verified != (c.want == "") {
			t.Errorf("%s gives %+v, want %q", claim, got, c.want)
		}
	}
	basic := scheme(t, `{"kind":"basic"}`)
	r := post(address, "{}", nil)
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth("stripe", "a password: with a colon")
	r.Headers = hook.ReadHeaders(request.Header)
	for claim, c := range map[string]struct {
		secret hook.Secret
		want   bool
	}{
		"its name and password": {hook.NewCredentials("its", "stripe", "a password: with a colon"), true},
		"another password":      {hook.NewCredentials("its", "stripe", "a password"), false},
		"another name":          {hook.NewCredentials("its", "strip", "a password: with a colon"), false},
	} {
		if got := basic.Verify([]hook.Secret{c.secret}, r, noon); got.Verified != c.want {
			t.Errorf("%s: %+v", claim, got)
		}
	}
}

func TestChallenges(t *testing.T) {
	byName := map[string]sender.Sender{}
	for _, s := range sender.All() {
		byName[s.Preset] = s
	}
	sign := func(preset, body string, header map[string]string) hook.Request {
		return requestOf(t, byName[preset].Sign(address, body, header, noon))
	}
	get := func(query string) hook.Request {
		return hook.Request{Method: "GET", Query: query, Headers: hook.Headers{}, At: noon}
	}
	text := func(body string) *hook.Answer {
		return &hook.Answer{Status: 200, ContentType: "text/plain; charset=utf-8", Body: []byte(body)}
	}
	tampered := sign("slack", `{"type":"url_verification","challenge":"3eZbrw"}`, nil)
	tampered.Body = []byte(`{"type":"url_verification","challenge":"<html>"}`)
	long := get("challenge=" + strings.Repeat("a", 5000))
	validation := hook.Request{Method: "POST", Query: "validationToken=Validation%3A+a%26b", Headers: hook.Headers{}}
	for claim, c := range map[string]struct {
		preset   string
		r        hook.Request
		verified bool
		want     *hook.Answer
	}{
		"github pings":                              {"github", sign("github", `{"zen":"Keep it logically awesome."}`, map[string]string{"X-GitHub-Event": "ping"}), true, &hook.Answer{Status: 200}},
		"slack verifies the address":                {"slack", sign("slack", `{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`, nil), true, text("3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P")},
		"somebody who is not slack asks":            {"slack", tampered, false, nil},
		"discord pings the address of events":       {"discord", sign("discord", `{"version":1,"application_id":"1","type":0}`, nil), true, &hook.Answer{Status: 204}},
		"discord pings the address of interactions": {"discord", sign("discord", `{"id":"1","application_id":"1","type":1,"token":"t","version":1}`, nil), true, &hook.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":1}`)}},
		"an event of discord is a delivery":         {"discord", sign("discord", `{"version":1,"type":1,"event":{"type":"ENTITLEMENT_CREATE"}}`, nil), true, nil},
		"a command of discord is a delivery":        {"discord", sign("discord", `{"id":"1","type":2,"data":{}}`, nil), true, nil},
		"meta with the token that it was told":      {"meta", get("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=a+token+to+verify"), true, text("1158201444")},
		"somebody without that token":               {"meta", get("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=guessed"), false, nil},
		"meta without a token":                      {"meta", get("hub.mode=subscribe&hub.challenge=1158201444"), false, nil},
		"dropbox":                                   {"dropbox", get("challenge=abc123"), true, text("abc123")},
		"a challenge that is no challenge":          {"dropbox", long, false, nil},
		"microsoft graph":                           {"microsoft-graph", validation, true, text("Validation: a&b")},
		"a sender that never asks":                  {"stripe", get("challenge=abc123"), false, nil},
	} {
		secrets := []hook.Secret{secretOf(t, byName[c.preset])}
		if token := byName[c.preset].Token; token != "" {
			secrets = append(secrets, hook.NewText("token", token))
		}
		got := scheme(t, `{"preset":"`+c.preset+`"}`).Verify(secrets, c.r, noon)
		if diff := cmp.Diff(c.want, got.Challenge); got.Verified != c.verified || diff != "" {
			t.Errorf("%s: %+v\n%s", claim, got, diff)
		}
	}
}
