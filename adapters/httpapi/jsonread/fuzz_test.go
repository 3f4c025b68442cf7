package jsonread_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

const typicalBody = `{
  "workflowVersionId": "wfv_01jz8x5k3mf9v8q2r7t4y6w0ab",
  "name": "Order paid",
  "type": "webhook",
  "config": {
    "rateLimit": {"maxRequests": 100, "windowMs": 60000},
    "timeoutMs": 30000,
    "retryPolicy": {"maxRetries": 3, "backoffMs": 1000, "maxBackoffMs": 60000},
    "webhookConfig": {"event": "order.paid"}
  }
}`

func seeds(f *testing.F) {
	for _, s := range []string{
		typicalBody, ``, `{}`, `{"a":1,"a":2}`, `{"a":"\u0000"}`, `{"a":"\ud83d\ude00\ud800"}`, "{\"a\":\"\xff\"}", "\xEF\xBB\xBF{}", `[]`,
		`{} {}`, `{"a":[1,-0.5e+10,1e400,true,false,null,"\"\\\/\b\f\n\r\t\u00e9"]}`, `{"a":01}`, `{"a":1,}`, strings.Repeat("[", 65),
		`{"\u0061":1,"a":2}`, `{ "b" : { "" : [ ] } }`, `{"a":tru}`, `{"a":.5}`, "{\"a\":\"\x01\"}",
		`{"a":-1e400,"b":"1e400"}`, `{"a":[1.7976931348623157e308,1.7976931348623159E+308,1e-400]}`, `{"a":1` + strings.Repeat("0", 309) + `}`,
	} {
		f.Add([]byte(s))
	}
}

// strict says whether encoding/json would take the body and none of the documented
// stricter rules would not.
func strict(body []byte) bool {
	if !json.Valid(body) || !utf8.Valid(body) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	value, ok := strictValue(dec, 0)
	_, isObject := value.(map[string]any)
	return ok && isObject && !halfPair(body)
}

func strictValue(dec *json.Decoder, depth int) (value any, ok bool) {
	t, err := dec.Token()
	if err != nil {
		return nil, false
	}
	switch t {
	case json.Delim('['):
		for dec.More() {
			if _, ok := strictValue(dec, depth+1); !ok {
				return nil, false
			}
		}
		_, err = dec.Token()
		return []any{}, err == nil && depth < jsonread.MaxDepth
	case json.Delim('{'):
		seen := map[string]any{}
		for dec.More() {
			name, _ := dec.Token()
			n, _ := name.(string)
			if _, again := seen[n]; again || strings.Contains(n, "\x00") {
				return nil, false
			}
			seen[n] = nil
			if _, ok := strictValue(dec, depth+1); !ok {
				return nil, false
			}
		}
		_, err = dec.Token()
		return seen, err == nil && depth < jsonread.MaxDepth
	}
	if n, isNumber := t.(json.Number); isNumber {
		_, err := n.Float64()
		return t, err == nil
	}
	s, _ := t.(string)
	return t, !strings.Contains(s, "\x00")
}

// halfPair says whether a valid text holds half a surrogate pair: such a half
// becomes U+FFFD when it is decoded, a character that must then stand in the text.
func halfPair(body []byte) bool {
	var compact bytes.Buffer
	_ = json.Compact(&compact, body)
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	_ = dec.Decode(&v)
	decoded, _ := json.Marshal(v)
	written := strings.Count(compact.String(), "\uFFFD") + strings.Count(strings.ToLower(strings.ReplaceAll(compact.String(), `\\`, "")), `\ufffd`)
	return strings.Count(string(decoded), "\uFFFD") != written
}

func FuzzParseAgreesWithEncodingJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := jsonread.Parse(body)
		if len(bytes.Trim(body, " \t\r\n")) == 0 {
			if err != nil || o.Text() != "{}" {
				t.Fatalf("an empty body gave %q, %v", o.Text(), err)
			}
			return
		}
		if want := strict(body); want != (err == nil) {
			t.Fatalf("accepted: %v, expected %v: %v", err == nil, want, err)
		}
		if err != nil {
			r := refusalOf(t, err)
			if !utf8.ValidString(r.Message) || r.Code == "" {
				t.Fatalf("the refusal cannot be shown: %q", r)
			}
			return
		}
		if diff := cmp.Diff(decoded(t, body), decoded(t, []byte(o.Text()))); diff != "" {
			t.Fatal("the compact text means something else", diff)
		}
		if diff := cmp.Diff(decoded(t, body), anyOf(o)); diff != "" {
			t.Fatal("the tree means something else", diff)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err != nil || compact.String() != o.Text() {
			t.Fatalf("the text is %s, not %s (%v)", o.Text(), compact.String(), err)
		}
	})
}

func FuzzCanonicalIsOneSpelling(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := jsonread.Parse(body)
		if err != nil {
			return
		}
		canonical := o.Canonical()
		again, err := jsonread.Parse(canonical)
		if err != nil {
			t.Fatalf("%s: %v", canonical, err)
		}
		if !bytes.Equal(canonical, again.Canonical()) {
			t.Fatalf("%s became %s", canonical, again.Canonical())
		}
		// encoding/json's own spelling, members sorted and escapes changed, means the same.
		respelled, err := json.MarshalIndent(anyOf(o), " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		other, err := jsonread.Parse(respelled)
		if err != nil || !bytes.Equal(canonical, other.Canonical()) {
			t.Fatalf("%s became %s (%v)", canonical, other.Canonical(), err)
		}
	})
}

func FuzzGettersNeverPanic(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := jsonread.Parse(body)
		if err != nil {
			return
		}
		for name, v := range o.All() {
			var r domain.Rules
			if got := v.Path(); got != "" && len(name) < 10 && name > " " && name < "~" && got != name {
				t.Fatalf("the path of %q is %q", name, got)
			}
			o.String(name, &r)
			o.Int(name, &r)
			o.Number(name, &r)
			o.Bool(name, &r)
			if a, ok := o.OptionalArray(name, &r); ok {
				a.Objects(&r)
				a.Strings(&r)
			}
			if d := o.OptionalDocument(name, &r); d != nil {
				if text := d.String(); text[0] != '{' || !utf8.ValidString(text) || !json.Valid([]byte(text)) {
					t.Fatalf("%q is no document", text)
				}
			}
		}
	})
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func anyOf(o jsonread.Object) any {
	all := map[string]any{}
	for name, v := range o.All() {
		all[name] = v.Any()
	}
	return all
}
