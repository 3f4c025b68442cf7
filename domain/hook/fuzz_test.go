package hook_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

// Whatever the headers, the query and the body are: nothing panics, nobody is verified who has no signature, and it is explained in
// the same way.
func FuzzVerify(f *testing.F) {
	for i, s := range sender.All() {
		d := s.Deliver(address, 1, noon)
		for _, name := range d.Proof() {
			f.Add(i, name, d.Header.Get(name), d.Body, "a=1")
		}
	}
	f.Add(0, "content-type", form, []byte("a=b&%"), "bodySHA256=%zz")
	all := sender.All()
	f.Fuzz(func(t *testing.T, which int, name, value string, body []byte, query string) {
		s := all[uint(which)%uint(len(all))]
		preset := presetOf(t, s)
		secrets := []hook.Secret{hook.NewText("its", "another secret than the sender has"), publicKey(t, "key", "whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g=")}
		r := requestOf(t, s.Deliver(address, 1, noon))
		r.Headers[strings.ToLower(name)], r.Body, r.Query, r.Address = []string{value}, body, query, "/h/t?"+query
		got := preset.Verify(secrets, r, noon)
		if got.Verified && got.Challenge == nil {
			t.Fatalf("%s: %+v", s.Name, got)
		}
		if explained := preset.Explain(secrets, r, noon); explained.Verified != got.Verified || explained.Reason != got.Reason {
			t.Errorf("%s: %+v is explained as %+v", s.Name, got, explained)
		}
		if p, err := preset.Payload(secrets, r, hook.PayloadOptions{RawBody: true}); err == nil && !json.Valid(p.JSON()) {
			t.Errorf("%s: the payload is %s", s.Name, p.JSON())
		}
		preset.Show(secrets, preset.Keep(secrets, r))
	})
}

// Every body gives valid JSON that can be kept, or an error of the client's.
func FuzzPayload(f *testing.F) {
	f.Add("multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\nContent-Type: text/plain\r\n\r\nabc\r\n--b--\r\n"))
	f.Add(form, []byte("a=1&b=%00&a=%ff"))
	f.Add("application/json", []byte(`{"a":["\ud83d\ude00",1e5,-0.1]}`))
	f.Add("text/xml", []byte("<?xml version='1.0' encoding=\"utf-16\"?><a/>"))
	f.Add("text/plain; charset=utf-16", []byte("\xd8\x3d\xde\x00"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		r := post(address, string(body), map[string]string{"content-type": contentType})
		p, err := scheme(t, `{"preset":"slack"}`).Payload([]hook.Secret{hook.NewText("its", "a secret text")}, r, hook.PayloadOptions{})
		if err != nil {
			if domain.KindOf(err) != domain.Invalid {
				t.Fatalf("%v", err)
			}
			return
		}
		if !json.Valid(p.JSON()) || strings.Contains(string(p.JSON()), "a secret text") {
			t.Fatalf("%q: %s", body, p.JSON())
		}
		if text := string(p.JSON()); strings.Contains(strings.ReplaceAll(text, `\\`, ""), `\u0000`) || strings.Contains(text, "\x00") {
			t.Fatalf("%q: U+0000 in %s", body, p.JSON())
		}
	})
}

// A scheme that is valid comes back the same, and one that is not verifies nobody.
func FuzzParseScheme(f *testing.F) {
	f.Add(`{"preset":"github"}`)
	f.Add(ofHMAC(`"signed":"{id}{header:X}{body}.{timestamp}","timestampPrefix":"t=","separator":",","prefix":"v1=","toleranceSeconds":60,"idHeader":"X-I"`))
	f.Add(`{"kind":"ed25519","header":"X","encoding":"base64","signed":"{body}{url}{method}"}`)
	f.Add(`{"kind":"urlSecret","parameter":"a"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var r domain.Rules
		s := hook.ParseScheme(&r, "scheme", []byte(text))
		restored := hook.RestoreScheme(text)
		got := restored.Verify([]hook.Secret{hook.NewText("its", "the secret")}, post(address, "{}", nil), noon)
		if got.Verified && !restored.IsOpen() {
			t.Fatalf("%s verifies a request without proof", text)
		}
		if len(r.Violations()) > 0 {
			if got.Verified {
				t.Fatalf("%s verifies although it is not valid: %v", text, r.Violations())
			}
			return
		}
		if s.Name() != restored.Name() || s.IsOpen() != restored.IsOpen() || s.Name() == "" {
			t.Errorf("%s comes back as %s", text, restored.Name())
		}
	})
}

// What a tenant answers never bears what could act on the gateway's origin.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"status":302,"headers":{"Location":"x","Content-Type":"text/html"},"body":"<script>"}`)
	f.Add(`{"headers":{"content-type":"text/xml"},"body":"<a/>"}`)
	f.Add(`{"headers":{"content-type":"application/ld+json;charset=\"UTF-8\""},"body":{}}`)
	f.Fuzz(func(t *testing.T, output string) {
		if !json.Valid([]byte(output)) {
			return
		}
		a, _ := hook.AnswerOf(json.RawMessage(output))
		if a.Status < 200 || a.Status > 599 || a.Status/100 == 3 {
			t.Fatalf("%s: status %d", output, a.Status)
		}
		for _, bad := range []string{"html", "svg", "script", "pdf", "\n", "\r", ","} {
			if strings.Contains(strings.ToLower(a.ContentType), bad) && !strings.HasSuffix(a.ContentType, "+json") {
				t.Fatalf("%s: %s", output, a.ContentType)
			}
		}
		for name, value := range a.Headers {
			if strings.ContainsAny(name+value, "\r\n\x00") || strings.Contains(name, "cookie") || name == "location" || name == "content-type" {
				t.Fatalf("%s: %q: %q", output, name, value)
			}
		}
	})
}

// Any secret, body and address: what is signed is verified, and nothing else is.
func TestWhatIsSignedIsVerified(t *testing.T) {
	all := sender.All()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(all).Draw(rt, "sender")
		if s.Secret != "" && !strings.HasPrefix(s.Secret, "whsec_") {
			s.Secret = rapid.StringMatching(`[ -~é]{1,40}`).Draw(rt, "secret")
		}
		at := "https://hooks.example.com/h/t?" + url.Values{rapid.StringMatching(`[a-z]{1,8}`).Draw(rt, "name"): {rapid.StringMatching(`[a-zA-Z0-9 _.~-]{0,8}`).Draw(rt, "value")}}.Encode()
		d := s.Deliver(at, rapid.IntRange(0, 1<<30).Draw(rt, "n"), noon)
		preset, secrets := presetOf(t, s), []hook.Secret{secretOf(t, s)}
		if got := preset.Verify(secrets, requestOf(t, d), noon); !got.Verified {
			rt.Fatalf("%s: %+v", s.Name, got)
		}
		kept := preset.Keep(secrets, requestOf(t, d))
		if got := preset.VerifyKept(secrets, kept); !got.Verified {
			rt.Fatalf("%s, kept: %+v", s.Name, got)
		}
		if s.PublicKey != "" {
			return
		}
		other := hook.NewText("other", s.Secret+rapid.StringMatching(`[a-z]{1,3}`).Draw(rt, "more"))
		if got := preset.Verify([]hook.Secret{other}, requestOf(t, d), noon); got.Verified {
			rt.Fatalf("%s: another secret gives %+v", s.Name, got)
		}
	})
}
