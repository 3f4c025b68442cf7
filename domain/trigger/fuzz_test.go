package trigger_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Any text is either refused with a sentence or an expression that is due, in any
// zone, at rising instants.
func FuzzParseCron(f *testing.F) {
	for _, expr := range []string{
		"* * * * *", "*/15 0-6,22 1,15 JAN-MAR MON-FRI", "0 0 29 2 *", "0 0 30 2 *", "@weekly", "@every 1s", "TZ=UTC * * * * *",
		"0 */2 * * 7", "59 23 31 12 sun", "5/10 1/2 */3 * */1", "0 0 ? * *", "0 0 * * FRI-SUN", "* * * * * *", "", "\x00 * * * *", "0\u00a00 * * *",
	} {
		f.Add(expr, int64(1_772_950_000), uint16(0))
	}
	names := zoneNames(f)
	f.Fuzz(func(t *testing.T, expr string, unix int64, zoneIndex uint16) {
		c, err := trigger.ParseCron(expr)
		if err != nil {
			if err.Error() == "" || strings.HasPrefix(err.Error(), " ") {
				t.Errorf("%q is refused without a reason", expr)
			}
			return
		}
		if again, err := trigger.ParseCron(c.String()); err != nil || again != c {
			t.Errorf("%q reads %q, err %v", expr, c, err)
		}
		const years1800To2200 = 400 * 366 * 86400
		after := time.Unix(unix%years1800To2200/2, 0)
		loc := zone(t, names[int(zoneIndex)%len(names)])
		for range 3 {
			next, ok := trigger.NewCronSchedule(c, loc).Next(after)
			if !ok || !next.At.After(after) || next.At.Location() != time.UTC {
				t.Fatalf("%q in %s after %s is due at %s, %v", expr, loc, after.UTC(), next.At, ok)
			}
			after = next.At
		}
	})
}

// Any object is either refused with complete violations below "config", or accepted;
// either way it comes back as it was sent, and what was accepted means the same
// when a store gives it back.
func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{
		`{}`, everything, `{"webhookConfig":null}`, `{"timeoutMs":1e400,"retryPolicy":{"maxRetries":-0,"backoffMs":1e2,"maxBackoffMs":9007199254740993}}`,
		`{"rateLimit":{"maxRequests":0.1e1,"windowMs":"1000"}}`, `{"scheduleConfig":{"cron":"0 0 * * *","intervalMs":60000,"timezone":"Local"}}`,
		`{"TimeoutMs":5,"timeoutMs":1000,"timeoutMs":2000}`, `{"scheduleConfig":{"cron":"\u0000","catchUp":"all","overlap":null}}`, `{"a":{"a":{"a":[[[]]]}}}`,
		`{"timeoutMs":-1e-99999999999}`, `{"\ud800":"\ud800"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") || !utf8.ValidString(text) || !json.Valid([]byte(text)) {
			return
		}
		doc := domain.RestoreDocument(text)
		c, found := trigger.ParseConfig(doc)
		if c.Document() != doc {
			t.Errorf("%s comes back as %s", doc, c.Document())
		}
		restored := trigger.RestoreConfig(doc.String())
		for _, v := range found {
			if !strings.HasPrefix(v.Field, "config") || v.Message == "" || v.Code == "" {
				t.Errorf("incomplete violation %+v", v)
			}
		}
		if diff := cmp.Diff(readAll(c), readAll(restored)); diff != "" && found == nil {
			t.Errorf("%s, restored: %s", doc, diff)
		}
		if r := readAll(c); r.Timeout < time.Second || r.Retry.MaxRetries < 0 || r.Retry.MaxBackoff < r.Retry.Backoff || r.Limited && r.RateLimit.MaxRequests < 1 {
			t.Errorf("%s means %+v", doc, r)
		}
	})
}
