package connection_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/connection"
)

func redactorOf(t testing.TB, secret string) connection.Redactor {
	t.Helper()
	c, ok := made(t, connection.Draft{Kind: connection.Query, Hosts: []string{"a.test"}, Secret: object{"key": secret}}).Credential()
	if !ok {
		t.Fatal("it bears nothing")
	}
	return c.Redactor()
}

const mark = "[redacted:conn_1]"

func TestASecretIsFoundInEverySpelling(t *testing.T) {
	const secret = `p@ss "wörd"/+<&>'`
	r := redactorOf(t, secret)
	quoted, _ := json.Marshal(secret)
	for claim, text := range map[string]string{
		"as it is":              secret,
		"for a query":           url.QueryEscape(secret),
		"for a path":            url.PathEscape(secret),
		"in lower case":         lowerEscapes(url.QueryEscape(secret)),
		"in base64":             base64.StdEncoding.EncodeToString([]byte(secret)),
		"in base64 for URLs":    base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"escaped for HTML":      html.EscapeString(secret),
		"escaped for JSON":      strings.Trim(string(quoted), `"`),
		"in hex":                hex.EncodeToString([]byte(secret)),
		"several times, at all": secret + secret,
	} {
		got, found := r.Text("before " + text + " behind")
		if !found || !strings.HasPrefix(got, "before "+mark) || !strings.HasSuffix(got, " behind") {
			t.Errorf("%s: %s is %s", claim, text, got)
		}
	}
	if got, found := r.Text("p@ss word"); found || got != "p@ss word" {
		t.Errorf("what is no secret is %s", got)
	}
}

func TestASecretIsFoundInBase64WithOthersAroundIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[ -~]{8,40}`).Filter(func(s string) bool { return strings.TrimSpace(s) == s }).Draw(rt, "secret")
		before, behind := rapid.StringN(0, 20, 20).Draw(rt, "before"), rapid.StringN(0, 20, 20).Draw(rt, "behind")
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			text := e.EncodeToString([]byte(before + secret + behind))
			if got, found := redactorOf(t, secret).Text(text); !found || !strings.Contains(got, mark) {
				rt.Errorf("%q in %q stays %q", secret, text, got)
			}
		}
	})
}

// lowerEscapes writes percent-encodings in lower case.
func lowerEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			b.WriteString(strings.ToLower(text[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func TestJSONStaysJSONWhereASecretWasInIt(t *testing.T) {
	for claim, c := range map[string]struct{ secret, text, want string }{
		"a string":               {"s3cret", `{"a": "x s3cret y"}`, `{"a": "x ` + mark + ` y"}`},
		"an escaped string":      {"s3cret", `{"a": "\u0073\u0033cret"}`, `{"a": "` + mark + `"}`},
		"an escaped slash":       {"s3/cret", `["s3\/cret"]`, `["` + mark + `"]`},
		"a name":                 {"s3cret", `{"s3cret": 1}`, `{"` + mark + `": 1}`},
		"a number":               {"12345", `{"id": 9123456, "n": -1.5e3}`, `{"id": "9` + mark + `6", "n": -1.5e3}`},
		"an end of an escape":    {"cret", `["s\\cret\\"]`, `["s\\` + mark + `\\"]`},
		"a quote":                {`a"bc`, `["a\"bc"]`, `["` + mark + `"]`},
		"nothing of the sort":    {"s3cret", `{"a":"\n b","c":[1,true,null]}`, `{"a":"\n b","c":[1,true,null]}`},
		"a text without a brace": {"s3cret", `"s3cret"`, `"` + mark + `"`},
	} {
		got, found := redactorOf(t, c.secret).JSON([]byte(c.text))
		if string(got) != c.want || found != (c.text != c.want) || !json.Valid(got) {
			t.Errorf("%s: %s (%t)", claim, got, found)
		}
	}
}

func TestAShortSecretIsNotSearchedFor(t *testing.T) {
	if got, found := redactorOf(t, "abc").Text("abc"); found {
		t.Error(got)
	}
}

// Whatever a server does to reflect a secret in JSON, it is not there any more.
func TestNoStringOfJSONHoldsTheSecretAfterwards(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9"\\/ü<]{4,12}`).Draw(rt, "secret")
		before, behind := rapid.String().Draw(rt, "before"), rapid.String().Draw(rt, "behind")
		var escaped strings.Builder
		escaped.WriteString(`{"a":"`)
		for _, c := range secret {
			if rapid.Bool().Draw(rt, "escape") || c == '"' || c == '\\' {
				escaped.WriteString(`\u` + hexDigits(c))
			} else {
				escaped.WriteRune(c)
			}
		}
		escaped.WriteString(`"}`)
		plain, _ := json.Marshal([]string{before + secret + behind})
		for _, text := range []string{escaped.String(), string(plain)} {
			got, found := redactorOf(t, secret).JSON([]byte(text))
			var value any
			if err := json.Unmarshal(got, &value); err != nil || !found {
				rt.Fatalf("%s is %s: %v", text, got, err)
			}
			clean, _ := json.Marshal(value)
			if strings.Contains(strings.ReplaceAll(string(clean), mark, ""), strings.Trim(string(mustJSON(secret)), `"`)) && !strings.Contains(before+behind, secret[1:]) {
				rt.Fatalf("%s is %s", text, got)
			}
		}
	})
}

func mustJSON(text string) []byte {
	quoted, _ := json.Marshal(text)
	return quoted
}

func hexDigits(c rune) string {
	text := strconv.FormatInt(int64(c), 16)
	return strings.Repeat("0", 4-len(text)) + text
}
