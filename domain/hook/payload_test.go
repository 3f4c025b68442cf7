package hook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

// bodyOf is what a run gets as body.
func bodyOf(t testing.TB, contentType, body string) (string, error) {
	t.Helper()
	p, err := scheme(t, `{"kind":"none"}`).Payload(nil, post(address, body, map[string]string{"content-type": contentType}), hook.PayloadOptions{})
	return string(p.Body), err
}

func TestBodiesOfEachType(t *testing.T) {
	for claim, c := range map[string]struct{ contentType, body, want string }{
		"JSON keeps its order, its repeated members and its numbers": {"application/json", ` {"b":1.0,"a":12345678901234567890,"b":[]} `, `{"b":1.0,"a":12345678901234567890,"b":[]}`},
		"JSON may be an array":                           {"application/cloudevents-batch+json; charset=utf-8", `[1,2]`, `[1,2]`},
		"JSON may begin with a mark":                     {"application/json", "\xEF\xBB\xBF{}", `{}`},
		"JSON may be in UTF-16":                          {"application/json; charset=utf-16le", "{\x00}\x00", `{}`},
		"JSON may have pairs of surrogates":              {"application/json", `"\ud83d\ude00"`, `"\ud83d\ude00"`},
		"no body is null":                                {"application/json", "", `null`},
		"a form is an object":                            {form, "b=2&a=1+1%21&b=3&c", `{"b":["2","3"],"a":"1 1!","c":""}`},
		"a form may hold bytes":                          {form, "a=%ff%00", `{"a":"��"}`},
		"XML is text":                                    {"text/xml", "<a>ä</a>", `"<a>ä</a>"`},
		"XML says its charset":                           {"application/soap+xml", "<?xml version=\"1.0\" encoding='ISO-8859-1'?><a>\xe4</a>", `"<?xml version=\"1.0\" encoding='ISO-8859-1'?><a>ä</a>"`},
		"text of windows-1252":                           {"text/plain; charset=Windows-1252", "\x80 100", `"€ 100"`},
		"text of UTF-16 with a mark":                     {"text/csv", "\xFE\xFF\x00a\xD8\x3D\xDE\x00", `"a😀"`},
		"text of a charset that nobody knows is base64":  {"text/plain; charset=ebcdic", "abc", `"YWJj"`},
		"text that is none is base64":                    {"text/plain", "\xff", `"/w=="`},
		"text with half a character in UTF-16 is base64": {"text/plain; charset=utf-16le", "\x3D\xD8a\x00", `"Pdhh AA=="`},
		"bytes are base64":                               {"application/pdf", "%PDF", `"JVBERg=="`},
		"no content type is base64":                      {"", "{}", `"e30="`},
	} {
		got, err := bodyOf(t, c.contentType, c.body)
		if want := strings.ReplaceAll(c.want, "Pdhh AA==", "PdhhAA=="); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", claim, got, err, want)
		}
	}
}

func TestBodiesThatAreNotWhatTheirTypeSays(t *testing.T) {
	for claim, c := range map[string]struct{ contentType, body string }{
		"JSON that breaks off":               {"application/json", `{"a":`},
		"two values":                         {"application/json", `{}{}`},
		"a form under the type of JSON":      {"application/json", `a=1`},
		"JSON that is no UTF-8":              {"application/json", "\"\xff\""},
		"JSON with U+0000":                   {"application/json", `{"a\u0000":1}`},
		"JSON with half a character":         {"application/json", `["\ud83d"]`},
		"JSON with the other half":           {"application/json", `["\ude00\ud83d"]`},
		"JSON with half a character further": {"application/json", `["\ud83d\u0041"]`},
		"a number that no double holds":      {"application/json", `[1e999]`},
		"JSON that nests too deep":           {"application/json", strings.Repeat("[", 513) + strings.Repeat("]", 513)},
		"a form with a bad escape":           {form, "a=%zz"},
		"a form of too many fields":          {form, strings.Repeat("a=1&", 1001)},
		"parts without a boundary":           {"multipart/form-data", "--b--"},
		"parts that break off":               {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nabc"},
	} {
		got, err := bodyOf(t, c.contentType, c.body)
		var failure *domain.Error
		if !errors.As(err, &failure) || failure.Kind != domain.Invalid || failure.Code != "hook_delivery_unreadable" || strings.Contains(failure.Message, "%!") {
			t.Errorf("%s: got %s, %v", claim, got, err)
		}
	}
	if got, err := bodyOf(t, "application/json", strings.Repeat("[", 512)+strings.Repeat("]", 512)); err != nil {
		t.Errorf("512 levels: got %s, %v", got, err)
	}
}

func TestFormsInParts(t *testing.T) {
	parts := func(sizes ...int) (contentType, body string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.SetBoundary("boundary")
		_ = w.WriteField("text", "Chloé")
		_ = w.WriteField("text", "again")
		latin, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="latin"`}, "Content-Type": {"text/plain; charset=iso-8859-1"}})
		_, _ = latin.Write([]byte("\xe4"))
		for _, size := range sizes {
			f, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="a \"b\".png"`}, "Content-Type": {"image/png"}})
			_, _ = f.Write(bytes.Repeat([]byte{0xff}, size))
		}
		_ = w.Close()
		return w.FormDataContentType(), b.String()
	}
	ff := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, n)) }
	const texts, fileHead = `{"text":["Chloé","again"],"latin":"ä","file":`, `{"name":"a \"b\".png","type":"image/png","size":`
	for claim, c := range map[string]struct {
		sizes []int
		want  string
	}{
		"a file is an object":                 {[]int{2}, texts + fileHead + `2,"base64":"//8="}}`},
		"an empty file":                       {[]int{0}, texts + fileHead + `0,"base64":""}}`},
		"files up to the bound are given":     {[]int{128 << 10, 128 << 10}, texts + "[" + fileHead + `131072,"base64":"` + ff(128<<10) + `"},` + fileHead + `131072,"base64":"` + ff(128<<10) + `"}]}`},
		"files above it together are not":     {[]int{128 << 10, 128<<10 + 1}, texts + "[" + fileHead + `131072},` + fileHead + `131073}]}`},
		"one file above it keeps name & size": {[]int{256<<10 + 1}, texts + fileHead + `262145}}`},
	} {
		contentType, body := parts(c.sizes...)
		got, err := bodyOf(t, contentType, body)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", claim, domain.Clip(got, 300), err, domain.Clip(c.want, 300))
		}
	}
}

func TestAPayloadAsRunsSeeIt(t *testing.T) {
	s := scheme(t, `{"kind":"secretHeader","header":"X-Key"}`)
	r := post("https://hooks.example.com/h/T0ken-of-the-address/orders/?b=2&a=1&a=%3C&bad=%zz", `{"n":1}`, map[string]string{
		"Content-Type": "application/json", "X-Key": "the-secret-of-the-sender", "Authorization": "Bearer x", "Cookie": "a=b", "X-Trace": "1 of the-secret-of-the-sender",
		"X-Original-URI": "/h/T0ken-of-the-address/orders/", "X-Odd": "\xff",
	})
	r.Token, r.Path = "T0ken-of-the-address", "/orders/"
	r.Headers["x-list"] = []string{"1", "2"}
	p, err := s.Payload([]hook.Secret{hook.NewText("its", "the-secret-of-the-sender")}, r, hook.PayloadOptions{RawBody: true})
	if err != nil {
		t.Fatal(err)
	}
	p.Event = "order"
	const want = `{"method":"POST","path":"/orders/","query":{"a":["1","<"],"b":"2"},"headers":{"content-type":"application/json",` +
		`"x-list":"1, 2","x-odd":"�","x-original-uri":"/h/[redacted]/orders/","x-trace":"1 of [redacted]"},"contentType":"application/json","body":{"n":1},"rawBody":"eyJuIjoxfQ==","event":"order"}`
	if diff := cmp.Diff(want, string(p.JSON())); diff != "" {
		t.Error(diff)
	}
	item := p.Item(3, json.RawMessage(`"x"`))
	if !strings.Contains(string(item.JSON()), `"body":"x"`) || !strings.HasSuffix(string(item.JSON()), `"index":3}`) || p.Index != nil {
		t.Errorf("an item is %s", item.JSON())
	}
	if item.Hash() == p.Hash() || item.Hash() != p.Item(4, json.RawMessage(`"x"`)).Hash() {
		t.Error("a hash must follow the body")
	}
}

// No secret of a sender, and nothing that proves who sends, may be seen in a payload, nor the secrets in what is kept and shown.
func TestSecretsAreSeenNowhere(t *testing.T) {
	for _, s := range sender.All() {
		preset := presetOf(t, s)
		secrets := []hook.Secret{secretOf(t, s)}
		if s.Token != "" {
			secrets = append(secrets, hook.NewText("token", s.Token))
		}
		r := requestOf(t, s.Deliver(address+"&hub.verify_token=a+token+to+verify", 1, noon))
		r.Headers["authorization"], r.Headers["cookie"], r.Headers["x-original-uri"] = []string{"Basic c2VjcmV0"}, []string{"c=session-of-somebody"}, []string{r.Address}
		p, err := preset.Payload(secrets, r, hook.PayloadOptions{RawBody: true})
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		kept, shown := preset.Keep(secrets, r), preset.Show(secrets, r)
		texts := map[string]string{"payload": string(p.JSON()) + string(p.RawBody), "kept": printed(kept), "shown": printed(shown)}
		hidden := map[string][]string{
			"payload": {"c2VjcmV0", "session-of-somebody", "token-of-an-address", "xyzz0WbapA4vBCDEFasx0q6G"},
			"kept":    {"c2VjcmV0", "session-of-somebody"},
			"shown":   {"c2VjcmV0", "session-of-somebody", "token-of-an-address", "xyzz0WbapA4vBCDEFasx0q6G"},
		}
		if s.Preset == "meta" {
			for where := range hidden {
				hidden[where] = append(hidden[where], "a+token+to", "a token to")
			}
		}
		if len(s.Secret) >= 8 {
			for where := range hidden {
				hidden[where] = append(hidden[where], s.Secret)
			}
		}
		for _, name := range s.Deliver(address, 1, noon).Proof() {
			if name := strings.ToLower(name); strings.Contains(name, "signature") && !strings.Contains(name, "timestamp") || strings.Contains(name, "hmac") {
				hidden["payload"] = append(hidden["payload"], r.Headers[name]...)
				hidden["shown"] = append(hidden["shown"], r.Headers[name]...)
			}
		}
		for where, list := range hidden {
			for _, secret := range list {
				if strings.Contains(texts[where], secret) {
					t.Errorf("%s: %q is in what is %s:\n%s", s.Name, secret, where, texts[where])
				}
			}
		}
		if _, err := preset.Payload(secrets, kept, hook.PayloadOptions{}); err != nil {
			t.Errorf("%s: what is kept gives %v", s.Name, err)
		}
	}
}

func printed(r hook.Request) string {
	b, err := json.Marshal(map[string]any{"a": r.Address, "p": r.Path, "q": r.Query, "h": r.Headers, "t": r.Token})
	if err != nil {
		panic(err)
	}
	return string(b) + string(r.Body)
}

func TestTheTokenOfSlackIsBlankedWhereverItStands(t *testing.T) {
	s := scheme(t, `{"preset":"slack"}`)
	for claim, c := range map[string]struct{ contentType, body, want string }{
		"in an event":   {"application/json", `{"a": 1, "token" : "xyzz", "token":"again"}`, `{"a": 1, "token" : "[redacted]", "token":"[redacted]"}`},
		"in a command":  {form, `token=xyzz&command=%2Fx`, `{"token":"[redacted]","command":"/x"}`},
		"in an action":  {form, `payload=%7B%22type%22%3A%22block_actions%22%2C%22token%22%3A%22xyzz%22%7D`, `{"payload":"{\"type\":\"block_actions\",\"token\":\"[redacted]\"}"}`},
		"not elsewhere": {"application/json", `{"event":{"token":"x"}}`, `{"event":{"token":"x"}}`},
		"not in a list": {"application/json", `["token"]`, `["token"]`},
	} {
		p, err := s.Payload(nil, post(address, c.body, map[string]string{"content-type": c.contentType}), hook.PayloadOptions{})
		if err != nil || string(p.Body) != c.want {
			t.Errorf("%s: %s, %v; want %s", claim, p.Body, err, c.want)
		}
	}
}
