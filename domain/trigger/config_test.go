package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// read lists what every accessor of a configuration says.
type read struct {
	RateLimit trigger.RateLimit
	Limited   bool
	Timeout   time.Duration
	Retry     workflow.RetryPolicy
	Event     string
	HasEvent  bool
	CatchUp   trigger.CatchUp
	Overlap   trigger.Overlap
	Due       []time.Time
}

// activated is when the schedules of these tests begin to count.
var activated = at("2026-01-01T00:00:00Z")

func readAll(c trigger.Config) read {
	var r read
	r.RateLimit, r.Limited = c.RateLimit()
	r.Event, r.HasEvent = c.Event()
	r.Timeout, r.Retry, r.CatchUp, r.Overlap = c.Timeout(), c.RetryPolicy(), c.CatchUp(), c.Overlap()
	if s, ok := c.Schedule(activated); ok {
		for _, o := range s.Upcoming(activated, 2) {
			r.Due = append(r.Due, o.At)
		}
	}
	return r
}

// defaults are what an empty configuration means.
func defaults() read {
	return read{
		Timeout: 30 * time.Minute, CatchUp: trigger.CatchUpLast, Overlap: trigger.OverlapAllow,
		Retry: workflow.RetryPolicy{MaxRetries: 3, Backoff: time.Second, MaxBackoff: 30 * time.Second},
	}
}

func with(change func(r *read)) read {
	r := defaults()
	change(&r)
	return r
}

func TestConfigurationsMeanWhatTheySay(t *testing.T) {
	for claim, c := range map[string]struct {
		text string
		want read
	}{
		"nothing is everything by default": {`{}`, defaults()},
		"unknown members mean nothing":     {`{"ratelimit":1,"TimeoutMs":null,"x":{"timeoutMs":1}}`, defaults()},
		"the least of everything": {
			`{"rateLimit":{"maxRequests":1,"windowMs":1000},"timeoutMs":1000,"retryPolicy":{"maxRetries":0,"backoffMs":100,"maxBackoffMs":1000},
			  "webhookConfig":{},"scheduleConfig":{"intervalMs":60000,"catchUp":"none","overlap":"skip"}}`,
			read{
				RateLimit: trigger.RateLimit{MaxRequests: 1, Window: time.Second}, Limited: true, Timeout: time.Second,
				Retry:   workflow.RetryPolicy{Backoff: 100 * time.Millisecond, MaxBackoff: time.Second},
				CatchUp: trigger.CatchUpNone, Overlap: trigger.OverlapSkip, Due: []time.Time{activated.Add(time.Minute), activated.Add(2 * time.Minute)},
			},
		},
		"the most of everything": {
			`{"rateLimit":{"maxRequests":9007199254740991,"windowMs":3153600000000},"timeoutMs":3153600000000,
			  "retryPolicy":{"maxRetries":10,"backoffMs":3153600000000,"maxBackoffMs":3153600000000},"webhookConfig":{"event":"` + strings.Repeat("é", 255) + `"},
			  "scheduleConfig":{"cron":"0 9 * * *","timezone":"Asia/Tokyo","catchUp":"all","overlap":"allow"}}`,
			read{
				RateLimit: trigger.RateLimit{MaxRequests: 1<<53 - 1, Window: 876000 * time.Hour}, Limited: true, Timeout: 876000 * time.Hour,
				Retry: workflow.RetryPolicy{MaxRetries: 10, Backoff: 876000 * time.Hour, MaxBackoff: 876000 * time.Hour},
				Event: strings.Repeat("é", 255), HasEvent: true, CatchUp: trigger.CatchUpAll, Overlap: trigger.OverlapAllow,
				Due: []time.Time{at("2026-01-02T00:00:00Z"), at("2026-01-03T00:00:00Z")},
			},
		},
		"whole numbers in other spellings": {
			`{"timeoutMs":2.5e3,"retryPolicy":{"maxRetries":-0.0e5,"backoffMs":1000E-1,"maxBackoffMs":1e+4}}`,
			with(func(r *read) {
				r.Timeout = 2500 * time.Millisecond
				r.Retry = workflow.RetryPolicy{Backoff: 100 * time.Millisecond, MaxBackoff: 10 * time.Second}
			}),
		},
		"a number that is whole in spite of its digits": {
			`{"timeoutMs":0.` + strings.Repeat("0", 2000) + `5e2004}`, with(func(r *read) { r.Timeout = 5 * time.Second }),
		},
		"no webhook configuration":                   {`{"webhookConfig":null}`, defaults()},
		"what was left blank":                        {`{"timeoutMs":null,"rateLimit":{},"retryPolicy":"","webhookConfig":"","scheduleConfig":null,"concurrency":{ }}`, defaults()},
		"choices that were left blank":               {`{"scheduleConfig":{"cron":"30 6 * * *","catchUp":"","overlap":null}}`, dueAt("2026-01-01T06:30:00Z", "2026-01-02T06:30:00Z")},
		"an event with an empty name":                {`{"webhookConfig":{"event":""}}`, with(func(r *read) { r.HasEvent = true })},
		"a schedule without times":                   {`{"scheduleConfig":{"timezone":"Europe/Berlin"}}`, defaults()},
		"a schedule in coordinated universal time":   {`{"scheduleConfig":{"cron":"30 6 * * *"}}`, dueAt("2026-01-01T06:30:00Z", "2026-01-02T06:30:00Z")},
		"a schedule in a zone":                       {`{"scheduleConfig":{"cron":"30 6 * * *","timezone":"America/Lima"}}`, dueAt("2026-01-01T11:30:00Z", "2026-01-02T11:30:00Z")},
		"an interval is the same in every zone":      {`{"scheduleConfig":{"intervalMs":3600000,"timezone":"America/Lima"}}`, dueAt("2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z")},
		"unknown members of known members":           {`{"scheduleConfig":{"Cron":"x","every":5},"webhookConfig":{"Event":5}}`, defaults()},
		"the shorthand for an hour, in other cases":  {`{"scheduleConfig":{"cron":" @Hourly "}}`, dueAt("2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z")},
		"an escaped member is the same as a plain 1": {`{"\u0074imeoutMs":4000}`, with(func(r *read) { r.Timeout = 4 * time.Second })},
	} {
		t.Run(claim, func(t *testing.T) {
			doc := domain.RestoreDocument(c.text)
			parsed, found := trigger.ParseConfig(doc)
			if found != nil {
				t.Fatalf("it is refused: %v", found)
			}
			if diff := cmp.Diff(c.want, readAll(parsed)); diff != "" {
				t.Error(diff)
			}
			restored := trigger.RestoreConfig(parsed.Document().String())
			if diff := cmp.Diff(c.want, readAll(restored)); diff != "" {
				t.Errorf("restored: %s", diff)
			}
			if parsed.Document().String() != c.text || !parsed.Equal(restored) {
				t.Errorf("it comes back as %s", parsed.Document())
			}
		})
	}
	if diff := cmp.Diff(defaults(), readAll(trigger.Config{})); diff != "" {
		t.Errorf("the zero configuration: %s", diff)
	}
}

func dueAt(times ...string) read {
	return with(func(r *read) {
		for _, text := range times {
			r.Due = append(r.Due, at(text))
		}
	})
}

func TestRefusedConfigurationsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"rateLimit":[]}`:                                               `config.rateLimit [wrong_type] must be an object, not an array`,
		`{"webhookConfig":"order"}`:                                      `config.webhookConfig [wrong_type] must be an object, not a string`,
		`{"webhookConfig":{"event":null}}`:                               `config.webhookConfig.event [wrong_type] must be a string, not null`,
		`{"webhookConfig":{"event":"\u0000"}}`:                           `config.webhookConfig.event [bad_character] must not contain the character U+0000`,
		`{"webhookConfig":{"event":"` + strings.Repeat("é", 256) + `"}}`: `config.webhookConfig.event [too_long] must be at most 255 characters long, not 256`,
		`{"timeoutMs":"5000"}`:                                           `config.timeoutMs [wrong_type] must be a number, not a string`,
		`{"timeoutMs":true}`:                                             `config.timeoutMs [wrong_type] must be a number, not a boolean`,
		`{"timeoutMs":{}}`:                                               `config.timeoutMs [wrong_type] must be a number, not an object`,
		`{"timeoutMs":999}`:                                              `config.timeoutMs [too_small] must be at least 1000, not 999`,
		`{"timeoutMs":-1000}`:                                            `config.timeoutMs [too_small] must be at least 1000, not -1000`,
		`{"timeoutMs":1000.5}`:                                           `config.timeoutMs [not_whole] must be a whole number, not 1000.5`,
		`{"timeoutMs":1e-400}`:                                           `config.timeoutMs [not_whole] must be a whole number, not 1e-400`,
		`{"timeoutMs":1e-99999999999999999999}`:                          `config.timeoutMs [not_whole] must be a whole number, not 1e-99999999999999999999`,
		`{"timeoutMs":10e9223372036854775807}`:                           `config.timeoutMs [too_large] must be at most 3153600000000, not 10e9223372036854775807`,
		`{"timeoutMs":0.1e-9223372036854775808}`:                         `config.timeoutMs [not_whole] must be a whole number, not 0.1e-9223372036854775808`,
		`{"timeoutMs":1e400}`:                                            `config.timeoutMs [too_large] must be at most 3153600000000, not 1e400`,
		`{"timeoutMs":-1e400}`:                                           `config.timeoutMs [too_small] must be at least 1000, not -1e400`,
		`{"timeoutMs":1e99999999999999999999}`:                           `config.timeoutMs [too_large] must be at most 3153600000000, not 1e99999999999999999999`,
		`{"timeoutMs":9223372036854775808}`:                              `config.timeoutMs [too_large] must be at most 3153600000000, not 9223372036854775808`,
		`{"timeoutMs":-9223372036854775809}`:                             `config.timeoutMs [too_small] must be at least 1000, not -9223372036854775809`,
		`{"timeoutMs":3153600000001}`:                                    `config.timeoutMs [too_large] must be at most 3153600000000, not 3153600000001`,
		`{"timeoutMs":1` + strings.Repeat("0", 50) + `}`:                 `config.timeoutMs [too_large] must be at most 3153600000000, not 1` + strings.Repeat("0", 31) + "…",
		`{"rateLimit":{"a":1}}`: "config.rateLimit.maxRequests [required] must be given: a whole number of at least 1\n" +
			"config.rateLimit.windowMs [required] must be given: a whole number of at least 1000",
		`{"rateLimit":{"maxRequests":0,"windowMs":999}}`: "config.rateLimit.maxRequests [too_small] must be at least 1, not 0\n" +
			"config.rateLimit.windowMs [too_small] must be at least 1000, not 999",
		`{"rateLimit":{"maxRequests":9007199254740992,"windowMs":0.1}}`: "config.rateLimit.maxRequests [too_large] must be at most 9007199254740991, not 9007199254740992\n" +
			"config.rateLimit.windowMs [not_whole] must be a whole number, not 0.1",
		`{"retryPolicy":{"maxretries":1}}`: "config.retryPolicy.maxRetries [required] must be given: a whole number of at least 0\n" +
			"config.retryPolicy.backoffMs [required] must be given: a whole number of at least 100\n" +
			"config.retryPolicy.maxBackoffMs [required] must be given: a whole number of at least 1000",
		`{"retryPolicy":{"maxRetries":11,"backoffMs":99,"maxBackoffMs":999}}`: "config.retryPolicy.maxRetries [too_large] must be at most 10, not 11\n" +
			"config.retryPolicy.backoffMs [too_small] must be at least 100, not 99\n" +
			"config.retryPolicy.maxBackoffMs [too_small] must be at least 1000, not 999",
		`{"retryPolicy":{"maxRetries":-1,"backoffMs":5000,"maxBackoffMs":4999}}`: "config.retryPolicy.maxRetries [too_small] must be at least 0, not -1\n" +
			"config.retryPolicy.maxBackoffMs [too_small] must be at least backoffMs, which is 5000, not 4999",
		`{"concurrency":[]}`: `config.concurrency [wrong_type] must be an object, not an array`,
		`{"concurrency":{"key":5,"limit":0,"overflow":"drop"}}`: "config.concurrency.limit [too_small] must be at least 1, not 0\n" +
			"config.concurrency.key [wrong_type] must be a string, not a number\n" +
			"config.concurrency.overflow [not_allowed] must be \"queue\", \"skip\" or \"cancelRunning\", not \"drop\"",
		`{"concurrency":{"key":"payload.id"}}`: `config.concurrency.limit [required] must be given: a whole number of at least 1`,
		`{"filter":5,"payloadSchema":[]}`: "config.filter [wrong_type] must be a string, not a number\n" +
			"config.payloadSchema [wrong_type] must be an object that maps each member of the payload to its schema, not an array",
		`{"filter":"` + strings.Repeat("1", 10001) + `","payloadSchema":{"a":{"type":"text"},"b":{"type":"number","min":2,"max":1}}}`: "config.filter [too_long] must be at most 10000 characters long, not 10001\n" +
			"config.payloadSchema.a.type [not_allowed] must be \"string\", \"number\", \"boolean\", \"any\", \"object\", \"array\" or \"enum\", not \"text\"\n" +
			"config.payloadSchema.b.max [conflicting] must be at least min, which is 2, not 1",
		`{"payloadSchema":{"a":{"type":"string","description":"` + strings.Repeat("x", 1<<16) + `"}}}`: "config.payloadSchema [too_long] must be at most 65536 bytes of JSON, not 65576",
		`{"scheduleConfig":{"cron":5}}`:                                   `config.scheduleConfig.cron [wrong_type] must be a string, not a number`,
		`{"scheduleConfig":{"cron":"0 25 * * *"}}`:                        `config.scheduleConfig.cron [bad_format] has a wrong hour field "25": "25" must be a number from 0 to 23`,
		`{"scheduleConfig":{"cron":"` + strings.Repeat("*", 1001) + `"}}`: `config.scheduleConfig.cron [too_long] must be at most 1000 characters long, not 1001`,
		`{"scheduleConfig":{"intervalMs":59999}}`:                         `config.scheduleConfig.intervalMs [too_small] must be at least 60000, not 59999`,
		`{"scheduleConfig":{"cron":"@daily","intervalMs":60000}}`:         `config.scheduleConfig [conflicting] must hold cron or intervalMs, not both`,
		`{"scheduleConfig":{"timezone":""}}`:                              `config.scheduleConfig.timezone [unknown] must be the IANA name of a time zone, such as "Europe/Berlin", not ""`,
		`{"scheduleConfig":{"timezone":"Local"}}`:                         `config.scheduleConfig.timezone [unknown] must be the IANA name of a time zone, such as "Europe/Berlin", not "Local"`,
		`{"scheduleConfig":{"timezone":"Europe/Paradise"}}`:               `config.scheduleConfig.timezone [unknown] must be the IANA name of a time zone, such as "Europe/Berlin", not "Europe/Paradise"`,
		`{"scheduleConfig":{"timezone":"../Europe/Berlin"}}`:              `config.scheduleConfig.timezone [unknown] must be the IANA name of a time zone, such as "Europe/Berlin", not "../Europe/Berlin"`,
		`{"scheduleConfig":{"timezone":"./UTC"}}`:                         `config.scheduleConfig.timezone [unknown] must be the IANA name of a time zone, such as "Europe/Berlin", not "./UTC"`,
		`{"scheduleConfig":{"timezone":"posixrules"}}`:                    `config.scheduleConfig.timezone [unknown] must be the IANA name of a time zone, such as "Europe/Berlin", not "posixrules"`,
		`{"scheduleConfig":{"catchUp":"some","overlap":"Skip"}}`: "config.scheduleConfig.catchUp [not_allowed] must be \"none\", \"last\" or \"all\", not \"some\"\n" +
			"config.scheduleConfig.overlap [not_allowed] must be \"allow\" or \"skip\", not \"Skip\"",
		`{"scheduleConfig":{"catchUp":5,"overlap":false}}`: "config.scheduleConfig.catchUp [wrong_type] must be a string, not a number\n" +
			"config.scheduleConfig.overlap [wrong_type] must be a string, not a boolean",
		`{"scheduleConfig":{"cron":"x","intervalMs":1,"timezone":[]},"timeoutMs":1,"retryPolicy":5}`: "config.timeoutMs [too_small] must be at least 1000, not 1\n" +
			"config.retryPolicy [wrong_type] must be an object, not a number\n" +
			"config.scheduleConfig.cron [bad_format] must have five fields (minute, hour, day of the month, month, day of the week), not 1\n" +
			"config.scheduleConfig.intervalMs [too_small] must be at least 60000, not 1\n" +
			"config.scheduleConfig [conflicting] must hold cron or intervalMs, not both\n" +
			"config.scheduleConfig.timezone [wrong_type] must be a string, not an array",
	} {
		t.Run(text[:min(len(text), 80)], func(t *testing.T) {
			c, found := trigger.ParseConfig(domain.RestoreDocument(text))
			if diff := cmp.Diff(want+"\n", reports(found)); diff != "" {
				t.Error(diff)
			}
			if c.Document().String() != text {
				t.Errorf("it comes back as %s", c.Document())
			}
		})
	}
}

func TestAStoreIsTrusted(t *testing.T) {
	for claim, c := range map[string]struct {
		text string
		want read
	}{
		"numbers beyond the bounds": {
			`{"rateLimit":{"maxRequests":0,"windowMs":1},"timeoutMs":5,"retryPolicy":{"maxRetries":99,"backoffMs":60000,"maxBackoffMs":1},"webhookConfig":{"event":"\u0000"}}`,
			with(func(r *read) {
				r.RateLimit, r.Limited, r.Timeout = trigger.RateLimit{Window: time.Millisecond}, true, 5*time.Millisecond
				r.Retry = workflow.RetryPolicy{MaxRetries: 99, Backoff: time.Minute, MaxBackoff: time.Millisecond}
				r.Event, r.HasEvent = "\x00", true
			}),
		},
		"an expression next to an interval comes first": {
			`{"scheduleConfig":{"cron":"@daily","intervalMs":1}}`, dueAt("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
		},
		"a zone that is gone makes no schedule": {`{"scheduleConfig":{"cron":"@daily","timezone":"Europe/Paradise","overlap":"skip"}}`, defaults()},
		"what cannot be read reads as absent": {
			`{"rateLimit":{"maxRequests":1},"timeoutMs":1e400,"retryPolicy":{"maxRetries":"3"},"webhookConfig":{"event":7},"scheduleConfig":{"cron":"@never"}}`, defaults(),
		},
		"words that only a newer version knows do not stop a schedule": {
			`{"scheduleConfig":{"cron":"@daily","catchUp":"two","overlap":"queue"}}`, dueAt("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
		},
		"a text that is no object": {`[`, defaults()},
	} {
		t.Run(claim, func(t *testing.T) {
			restored := trigger.RestoreConfig(c.text)
			if diff := cmp.Diff(c.want, readAll(restored)); diff != "" {
				t.Error(diff)
			}
			if restored.Document().String() != c.text {
				t.Errorf("it comes back as %s", restored.Document())
			}
		})
	}
}

// Bounds are inclusive, and what lies beyond is refused with the bound in the message.
func TestBoundsOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64Range(-10, 130_000), rapid.Int64()).Draw(t, "n")
		b := rapid.SampledFrom([]struct {
			shape       string
			least, most int64
		}{
			{`{"timeoutMs":N}`, 1000, 3_153_600_000_000},
			{`{"rateLimit":{"maxRequests":N,"windowMs":1000}}`, 1, 1<<53 - 1},
			{`{"rateLimit":{"maxRequests":1,"windowMs":N}}`, 1000, 3_153_600_000_000},
			{`{"retryPolicy":{"maxRetries":N,"backoffMs":100,"maxBackoffMs":1000}}`, 0, 10},
			{`{"retryPolicy":{"maxRetries":0,"backoffMs":N,"maxBackoffMs":3153600000000}}`, 100, 3_153_600_000_000},
			{`{"retryPolicy":{"maxRetries":0,"backoffMs":100,"maxBackoffMs":N}}`, 1000, 3_153_600_000_000},
			{`{"scheduleConfig":{"intervalMs":N}}`, 60_000, 3_153_600_000_000},
		}).Draw(t, "bound")
		_, found := trigger.ParseConfig(domain.RestoreDocument(strings.ReplaceAll(b.shape, "N", jsonNumber(t, n))))
		var code domain.ViolationCode
		if len(found) > 0 {
			code = found[0].Code
		}
		var want domain.ViolationCode
		switch {
		case n < b.least:
			want = domain.TooSmall
		case n > b.most:
			want = domain.TooLarge
		}
		if code != want || len(found) > 1 {
			t.Fatalf("%d in %s: %v", n, b.shape, found)
		}
	})
}
