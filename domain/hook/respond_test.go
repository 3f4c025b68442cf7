package hook_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

func respond(t *testing.T, text string) (hook.Respond, []string) {
	t.Helper()
	var r domain.Rules
	p := hook.ParseRespond(&r, "respond", []byte(text))
	return p, fieldsOf(r.Violations())
}

func TestWhatATenantMayAnswerWith(t *testing.T) {
	plain := scheme(t, `{"kind":"none"}`)
	for text, want := range map[string]hook.Answer{
		`{"mode":"immediately"}`:                           {Status: 202},
		`{"mode":"whenDone","timeoutMs":5000}`:             {Status: 202},
		`{"mode":"fixed"}`:                                 {Status: 200},
		`{"mode":"fixed","status":204}`:                    {Status: 204},
		`{"mode":"fixed","body":"ok"}`:                     {Status: 200, ContentType: "text/plain; charset=utf-8", Body: []byte("ok")},
		`{"mode":"fixed","body":{"type":5}}`:               {Status: 200, ContentType: "application/json", Body: []byte(`{"type":5}`)},
		`{"mode":"fixed","headers":{"X-Hook-Secret":"a"}}`: {Status: 200, Headers: map[string]string{"x-hook-secret": "a"}},
		`{"mode":"fixed","headers":{"content-type":"Text/CSV"},"body":"a,b"}`: {
			Status: 200, ContentType: "text/csv; charset=utf-8", Body: []byte("a,b"),
		},
		`{"mode":"fixed","headers":{"Content-Type":"text/xml"},"body":"<Response/>"}`: {
			Status: 200, ContentType: "text/xml; charset=utf-8", Headers: map[string]string{"content-disposition": "attachment"}, Body: []byte("<Response/>"),
		},
		`{"mode":"fixed","status":410,"headers":{"Content-Type":"application/problem+json; charset=UTF-8"},"body":{}}`: {
			Status: 410, ContentType: "application/problem+json", Body: []byte("{}"),
		},
	} {
		p, found := respond(t, text)
		if diff := cmp.Diff(want, p.WithoutRun(plain)); diff != "" || found != nil {
			t.Errorf("%s: %v\n%s", text, found, diff)
		}
		if diff := cmp.Diff(want, hook.RestoreRespond(p.Document().String()).WithoutRun(plain)); diff != "" {
			t.Errorf("%s, restored:\n%s", text, diff)
		}
	}
}

func TestWhatATenantMayNotAnswerWith(t *testing.T) {
	header := func(name, value string) string {
		n, _ := json.Marshal(name)
		v, _ := json.Marshal(value)
		return `{"mode":"fixed","headers":{` + string(n) + `:` + string(v) + `}}`
	}
	for text, want := range map[string][]string{
		`{}`:                                                               {"respond.mode required"},
		`{"mode":"later"}`:                                                 {"respond.mode not_allowed"},
		`{"mode":"immediately","status":200}`:                              {"respond.status not_allowed"},
		`{"mode":"immediately","timeoutMs":500}`:                           {"respond.timeoutMs not_allowed"},
		`{"mode":"whenDone","timeoutMs":25001}`:                            {"respond.timeoutMs too_large"},
		`{"mode":"fixed","timeoutMs":1000}`:                                {"respond.timeoutMs not_allowed"},
		`{"mode":"fixed","status":301}`:                                    {"respond.status not_allowed"},
		`{"mode":"fixed","status":101}`:                                    {"respond.status too_small"},
		`{"mode":"fixed","status":600}`:                                    {"respond.status too_large"},
		`{"mode":"fixed","status":204,"body":""}`:                          {"respond.body conflicting"},
		`{"mode":"fixed","headers":[]}`:                                    {"respond.headers wrong_type"},
		`{"mode":"fixed","body":"` + strings.Repeat("a", 64<<10+1) + `"}`:  {"respond.body too_long"},
		header("Content-Type", "text/html"):                                {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "image/svg+xml"):                            {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "application/xhtml+xml"):                    {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "text/javascript"):                          {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "application/pdf"):                          {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "multipart/x-mixed-replace; boundary=a"):    {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "text/plain; charset=utf-7"):                {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "text/plain; charset=utf-8; a=b"):           {"respond.headers.Content-Type not_allowed"},
		header("Content-Type", "text/plain, text/html"):                    {"respond.headers.Content-Type not_allowed"},
		header("X-Request-Id", "a\r\nSet-Cookie: b"):                       {"respond.headers.X-Request-Id bad_character"},
		header("X-Request-Id", "ä"):                                        {"respond.headers.X-Request-Id bad_character"},
		header("Set-Cookie\r\nX", "a"):                                     {"respond.headers.Set-Cookie\r\nX not_allowed"},
		header("", "a"):                                                    {"respond.headers not_allowed"},
		`{"mode":"fixed","headers":{"Retry-After":"1","retry-after":"2"}}`: nil,
		`{"mode":"fixed","headers":{"Retry-After":"1","Retry-After":"2"}}`: {"respond.headers.Retry-After duplicate"},
	} {
		if _, found := respond(t, text); !cmp.Equal(want, found) && (text != header("", "a") || len(found) != 1) {
			t.Errorf("%s: %v, want %v", text, found, want)
		}
	}
	for _, name := range []string{
		"Set-Cookie", "Location", "Refresh", "Content-Security-Policy", "X-Content-Type-Options", "Cache-Control", "Expires", "Vary", "ETag", "Clear-Site-Data",
		"Access-Control-Allow-Origin", "Cross-Origin-Opener-Policy", "Content-Disposition", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Connection",
		"Link", "Service-Worker-Allowed", "SourceMap", "Strict-Transport-Security", "Alt-Svc", "X-Accel-Redirect", "X-Sendfile", "WWW-Authenticate", "Report-To", "NEL", "Trailer",
	} {
		if _, found := respond(t, header(name, "a")); len(found) != 1 || !strings.HasSuffix(found[0], "not_allowed") {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestWhatARunAnswers(t *testing.T) {
	for output, want := range map[string]struct {
		answer  hook.Answer
		leftOut []string
	}{
		`{"status":201,"body":"made"}`: {hook.Answer{Status: 201, ContentType: "text/plain; charset=utf-8", Body: []byte("made")}, nil},
		`{"body":{"a":1}}`:             {hook.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"a":1}`)}, nil},
		`{"status":204}`:               {hook.Answer{Status: 204}, nil},
		`{"status":201,"id":1}`:        {hook.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"status":201,"id":1}`)}, nil},
		`{}`:                           {hook.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{}`)}, nil},
		`null`:                         {hook.Answer{Status: 200, ContentType: "application/json", Body: []byte(`null`)}, nil},
		`"<script>"`:                   {hook.Answer{Status: 200, ContentType: "application/json", Body: []byte(`"<script>"`)}, nil},
		`{"status":302,"headers":{"Location":"https://evil.example","Set-Cookie":"a=b","Content-Type":"text/html"},"body":"<script>"}`: {
			hook.Answer{Status: 200, ContentType: "text/plain; charset=utf-8", Body: []byte("<script>")},
			[]string{"status not_allowed", "headers.Location not_allowed", "headers.Set-Cookie not_allowed", "headers.Content-Type not_allowed"},
		},
	} {
		answer, found := hook.AnswerOf(json.RawMessage(output))
		if diff := cmp.Diff(want.answer, answer) + cmp.Diff(want.leftOut, fieldsOf(found)); diff != "" {
			t.Errorf("%s:\n%s", output, diff)
		}
	}
}

func TestHowLongARunIsWaitedFor(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{"mode":"immediately"}`: 0, `{"mode":"fixed"}`: 0, `{"mode":"whenDone"}`: 25 * time.Second, `{"mode":"whenDone","timeoutMs":100}`: 100 * time.Millisecond,
	} {
		if p, _ := respond(t, text); p.Wait() != want {
			t.Errorf("%s: %s", text, p.Wait())
		}
	}
	var none hook.Respond
	if none.Mode() != hook.Immediately || none.Document().String() != `{"mode":"immediately"}` || hook.RestoreRespond(`{"mode":"new"}`).Mode() != hook.Immediately {
		t.Errorf("the zero value is %s, %s", none.Mode(), none.Document())
	}
}

func TestRangesThatMaySend(t *testing.T) {
	var r domain.Rules
	ranges := hook.ParseRanges(&r, "allowFrom", []string{"192.0.2.7", "198.51.100.0/24", "2001:db8::/32", "::ffff:203.0.113.9"})
	if r.Violations() != nil || !cmp.Equal(ranges.Texts(), []string{"192.0.2.7", "198.51.100.0/24", "2001:db8::/32", "203.0.113.9"}) {
		t.Errorf("%v %v", r.Violations(), ranges.Texts())
	}
	for text, want := range map[string]bool{
		"192.0.2.7": true, "192.0.2.8": false, "198.51.100.255": true, "198.51.101.0": false, "::ffff:198.51.100.1": true, "2001:db8:1::1": true, "2001:db9::": false, "203.0.113.9": true, "fe80::1%eth0": false,
	} {
		if got := ranges.Allows(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !(hook.Ranges{}).Allows(netip.MustParseAddr("192.0.2.1")) {
		t.Error("no ranges allow every address")
	}
	for _, text := range []string{"", "host", "192.0.2.1/24", "192.0.2.0/33", "fe80::1%eth0", "::ffff:192.0.2.0/120", "192.0.2"} {
		var r domain.Rules
		if hook.ParseRanges(&r, "allowFrom", []string{text}); !cmp.Equal(fieldsOf(r.Violations()), []string{"allowFrom[0] bad_format"}) {
			t.Errorf("%q: %v", text, r.Violations())
		}
	}
}
