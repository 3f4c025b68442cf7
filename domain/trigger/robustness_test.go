package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Two versions of the gateway share a database during an upgrade: a word that only
// the newer one knows must not make the older one leave out what is due.
func TestAWordOfANewerGatewayDoesNotStopASchedule(t *testing.T) {
	for claim, c := range map[string]struct {
		text    string
		catchUp trigger.CatchUp
		overlap trigger.Overlap
	}{
		"a new way of catching up":     {`{"scheduleConfig":{"cron":"@daily","catchUp":"first","overlap":"skip"}}`, trigger.CatchUpLast, trigger.OverlapSkip},
		"a new way of overlapping":     {`{"scheduleConfig":{"cron":"@daily","catchUp":"all","overlap":"queue"}}`, trigger.CatchUpAll, trigger.OverlapAllow},
		"both, and of another type":    {`{"scheduleConfig":{"catchUp":{"most":3},"overlap":null,"cron":"@daily"}}`, trigger.CatchUpLast, trigger.OverlapAllow},
		"another part cannot be read":  {`{"timeoutMs":"1","scheduleConfig":{"cron":"@daily","catchUp":"none"}}`, trigger.CatchUpNone, trigger.OverlapAllow},
		"a number beyond all measures": {`{"scheduleConfig":{"cron":"@daily"},"rateLimit":{"maxRequests":1e30,"windowMs":1000}}`, trigger.CatchUpLast, trigger.OverlapAllow},
	} {
		t.Run(claim, func(t *testing.T) {
			config := trigger.RestoreConfig(c.text)
			s, ok := config.Schedule(at("2026-05-01T00:00:00Z"))
			next, due := s.Next(at("2026-05-01T00:00:00Z"))
			if !ok || !due || !next.At.Equal(at("2026-05-02T00:00:00Z")) {
				t.Errorf("it is due at %v, %v", next, ok && due)
			}
			if config.CatchUp() != c.catchUp || config.Overlap() != c.overlap {
				t.Errorf("it catches up %q and overlaps %q", config.CatchUp(), config.Overlap())
			}
		})
	}
}

// The longest intervals soon add up to more than a duration can hold.
func TestTheLongestIntervalsKeepRising(t *testing.T) {
	const year = 365 * 24 * time.Hour
	anchor := at("2026-05-01T00:00:00Z")
	for _, interval := range []time.Duration{50 * year, 99 * year, 100 * year} {
		last := anchor
		for i, o := range trigger.NewIntervalSchedule(interval, anchor).Upcoming(anchor, 12) {
			if want := last.Add(interval); !o.At.Equal(want) {
				t.Fatalf("every %d years: number %d is %s, not %s", interval/year, i+1, o.At, want)
			}
			last = o.At
		}
		if last.Year() < 2600 {
			t.Fatalf("the last is %s", last)
		}
	}
}

func TestSundayAsSevenWithAStep(t *testing.T) {
	// A step on a single value goes on to the field's end: 7 is the end.
	want := []string{"2026-01-04", "2026-01-11"}
	var got []string
	for _, o := range trigger.NewCronSchedule(mustParse(t, "0 0 * * 7/2"), time.UTC).Upcoming(at("2026-01-01T00:00:00Z"), 2) {
		got = append(got, o.At.Format(time.DateOnly))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARangeThatEndsJustBeforeItBeginsIsRefused(t *testing.T) {
	for _, expr := range []string{"9-8 * * * *", "0 9-8 * * *", "0 0 9-8 * *", "0 0 * 9-8 *", "0 0 * * 5-4", "0 0 * * FRI-THU", "0 0 * * SAT-0"} {
		if c, err := trigger.ParseCron(expr); err == nil || !strings.Contains(err.Error(), "ends before it begins") {
			t.Errorf("%q is read as %v, %v", expr, c, err)
		}
	}
}

// Editors keep whole drawings in a configuration; reading it must not cost many times
// its size.
func TestUnknownMembersAreNotTakenApart(t *testing.T) {
	const elements = 100_000
	doc := domain.RestoreDocument(`{"drawing":[` + strings.Repeat("0,", elements) + `0],"timeoutMs":5000,"rateLimit":{"maxRequests":1,"windowMs":1000,"x":[` + strings.Repeat("[],", elements) + `0]}}`)
	var c trigger.Config
	allocations := testing.AllocsPerRun(2, func() {
		var found []domain.Violation
		if c, found = trigger.ParseConfig(doc); found != nil {
			t.Fatal(found)
		}
	})
	if allocations > 200 || c.Timeout() != 5*time.Second {
		t.Errorf("%v allocations for %d elements, and a timeout of %s", allocations, elements, c.Timeout())
	}
}

func TestSpacesBetweenTokensMeanNothing(t *testing.T) {
	spaced := "{ \"timeoutMs\" :\t5000 ,\n\"webhookConfig\" : null , \"retryPolicy\" : { \"maxRetries\" : 1 , \"backoffMs\" : 100 , \"maxBackoffMs\" : 1000\r\n} , \"scheduleConfig\":\n{ \"cron\" : \"@daily\" , \"overlap\" :\t\"skip\" } }"
	c, found := trigger.ParseConfig(domain.RestoreDocument(spaced))
	plain, _ := trigger.ParseConfig(domain.RestoreDocument(strings.Join(strings.Fields(spaced), "")))
	if diff := cmp.Diff(readAll(plain), readAll(c)); diff != "" || found != nil || c.Overlap() != trigger.OverlapSkip || c.Timeout() != 5*time.Second {
		t.Errorf("%v %s", found, diff)
	}
}
