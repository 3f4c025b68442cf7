package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

func withConfig(t testing.TB, text string) *trigger.Trigger {
	t.Helper()
	return mustNew(t, draft(func(d *trigger.Draft) { d.Config = document(text) }))
}

func TestAnAgendaLeadsFromOneLookToTheNext(t *testing.T) {
	const hourly = `{"scheduleConfig":{"cron":"0 * * * *"}}`
	fired := func(text string) trigger.PlannedFire {
		return trigger.PlannedFire{At: at(text), Outcome: trigger.Fired}
	}
	for claim, c := range map[string]struct {
		config, dealtWith, now string
		most                   int
		want                   trigger.DueWork
	}{
		"nothing is due yet": {hourly, "2026-05-01T10:00:00Z", "2026-05-01T10:59:00Z", 9,
			trigger.DueWork{ProcessedUntil: at("2026-05-01T10:59:00Z"), Next: at("2026-05-01T11:00:00Z")}},
		"one is due": {hourly, "2026-05-01T10:00:00Z", "2026-05-01T11:00:01Z", 9,
			trigger.DueWork{Plan: []trigger.PlannedFire{fired("2026-05-01T11:00:00Z")}, ProcessedUntil: at("2026-05-01T11:00:01Z"), Next: at("2026-05-01T12:00:00Z")}},
		"the clock went back": {hourly, "2026-05-01T11:00:00Z", "2026-05-01T10:00:00Z", 9,
			trigger.DueWork{ProcessedUntil: at("2026-05-01T11:00:00Z"), Next: at("2026-05-01T12:00:00Z")}},
		"more than may be dealt with": {hourly, "2026-05-01T10:00:00Z", "2026-05-01T13:00:00Z", 1, trigger.DueWork{
			Plan:           []trigger.PlannedFire{{At: at("2026-05-01T11:00:00Z"), Outcome: trigger.Skipped, Reason: "missed while nothing could fire; only the latest one may start a run"}},
			ProcessedUntil: at("2026-05-01T11:00:00Z"), Next: at("2026-05-01T12:00:00Z")}},
		"no schedule": {`{}`, "2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z", 9, trigger.DueWork{ProcessedUntil: at("2026-05-01T11:00:00Z")}},
		"an interval counts from the activation": {`{"scheduleConfig":{"intervalMs":600000}}`, "2026-05-01T10:00:00Z", "2026-05-01T10:10:00Z", 9,
			trigger.DueWork{Plan: []trigger.PlannedFire{fired("2026-05-01T10:10:00Z")}, ProcessedUntil: at("2026-05-01T10:10:00Z"), Next: at("2026-05-01T10:20:00Z")}},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, withConfig(t, c.config).DueWork(at(c.dealtWith), at(c.now), c.most)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What was too old is written down once, although the next looks are some time later.
func TestWhatIsTooOldIsDealtWithOnce(t *testing.T) {
	trg := withConfig(t, `{"scheduleConfig":{"cron":"* * 1 * *","catchUp":"all"}}`)
	dealtWith, now := at("2026-05-01T12:00:00Z"), at("2026-05-15T12:00:00Z")
	var plan []trigger.PlannedFire
	for look := range 5 {
		a := trg.DueWork(dealtWith, now.Add(time.Duration(look)*time.Millisecond), 1)
		plan, dealtWith = append(plan, a.Plan...), a.ProcessedUntil
	}
	want := []trigger.PlannedFire{{At: at("2026-05-01T12:01:00Z"), Outcome: trigger.Skipped,
		Reason: "missed more than 24 hours ago, with every later one until 2026-05-14T12:00:00Z"}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Error(diff)
	}
}

// Nor does it matter that the rest is dealt with bit by bit.
func TestWhatIsTooOldComesOnceBeforeTheRest(t *testing.T) {
	trg := withConfig(t, `{"scheduleConfig":{"cron":"*/10 * * * *","catchUp":"all"}}`)
	dealtWith, now := at("2026-05-01T12:00:00Z"), at("2026-05-15T12:00:00Z")
	var got []string
	for range 3 {
		a := trg.DueWork(dealtWith, now, 1)
		got, dealtWith = append(got, a.Plan[0].At.Format("02 15:04 ")+string(a.Plan[0].Outcome)), a.ProcessedUntil
	}
	if diff := cmp.Diff([]string{"01 12:10 skipped", "14 12:00 caught_up", "14 12:10 caught_up"}, got); diff != "" {
		t.Error(diff)
	}
}

// However few instants are dealt with at a look, together the looks do what one would
// do that deals with all of them.
func TestManySmallLooksAreOneLargeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catchUp := rapid.SampledFrom([]trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast, trigger.CatchUpAll}).Draw(t, "catchUp")
		cron := rapid.SampledFrom([]string{"* * * * *", "*/7 * * * *", "0 */3 * * *", "30 2 * * *", "*/20 1-4 * * 5"}).Draw(t, "cron")
		trg := trigger.Restore(trigger.State{Type: trigger.Scheduled, Active: true,
			Config: trigger.RestoreConfig(`{"scheduleConfig":{"timezone":"Europe/Berlin","cron":"` + cron + `","catchUp":"` + string(catchUp) + `"}}`)})
		since := at("2026-03-27T00:00:00Z")
		now := since.Add(time.Duration(rapid.IntRange(0, 4*24*3600).Draw(t, "seconds")) * time.Second)
		whole := trg.DueWork(since, now, 1<<20)
		most := rapid.IntRange(1, 5).Draw(t, "most")
		var plan []trigger.PlannedFire
		next, through := since, since
		for !next.IsZero() && !next.After(now) {
			a := trg.DueWork(through, now, most)
			if len(a.Plan) > most+1 || a.ProcessedUntil.Before(through) {
				t.Fatalf("%+v after %s", a, through)
			}
			if n := len(a.Plan); n > most && now.Sub(a.Plan[n-1].At) >= trigger.MissedAfter {
				t.Fatalf("%s was planned beyond the %d that were asked for", a.Plan[n-1].At, most)
			}
			plan, next, through = append(plan, a.Plan...), a.Next, a.ProcessedUntil
		}
		if diff := cmp.Diff(whole, trigger.DueWork{Plan: plan, ProcessedUntil: through, Next: next}); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRunsThatMustNotOverlapAreSuppressed(t *testing.T) {
	for _, o := range trigger.FireOutcomes() {
		p := trigger.PlannedFire{At: created, Outcome: o, Reason: "because"}
		if got := trigger.OverlapAllow.Overlapping(p); got != p {
			t.Errorf("allowed, %s becomes %+v", o, got)
		}
		got := trigger.OverlapSkip.Overlapping(p)
		if missed := strings.HasPrefix(got.Reason, "missed while nothing could fire, and not caught up: "); missed != (o == trigger.CaughtUp) {
			t.Errorf("%s becomes %+v", o, got)
		}
		if suppressed := got.Outcome == trigger.Suppressed && got.Reason != "because"; suppressed != o.Starts() || got.At != p.At {
			t.Errorf("skipped, %s becomes %+v", o, got)
		}
	}
}

func TestTheScheduleBeginsAnewWhenTheTimesChange(t *testing.T) {
	yes, no, name := true, false, "Evening"
	config := func(text string) trigger.Patch {
		return trigger.Patch{Config: document(`{"scheduleConfig":{` + text + `}}`)}
	}
	for claim, c := range map[string]struct {
		before string
		active *bool
		patch  trigger.Patch
		anew   bool
	}{
		"another name":               {`"cron":"0 8 * * *"`, &yes, trigger.Patch{Name: &name}, false},
		"active as it was":           {`"cron":"0 8 * * *"`, &yes, trigger.Patch{Active: &yes}, false},
		"deactivated":                {`"cron":"0 8 * * *"`, &yes, trigger.Patch{Active: &no}, false},
		"activated":                  {`"cron":"0 8 * * *"`, &no, trigger.Patch{Active: &yes}, true},
		"another expression":         {`"cron":"0 8 * * *"`, &yes, config(`"cron":"0 9 * * *"`), true},
		"another zone":               {`"cron":"0 8 * * *"`, &yes, config(`"cron":"0 8 * * *","timezone":"Europe/Berlin"`), true},
		"the same zone by its name":  {`"cron":"0 8 * * *"`, &yes, config(`"cron":"0 8 * * *","timezone":"UTC"`), false},
		"another way to catch up":    {`"cron":"0 8 * * *"`, &yes, config(`"cron":"0 8 * * *","catchUp":"all","overlap":"skip"`), false},
		"an interval instead":        {`"cron":"0 8 * * *"`, &yes, config(`"intervalMs":60000`), true},
		"another interval":           {`"intervalMs":60000`, &yes, config(`"intervalMs":61000`), true},
		"the same interval":          {`"intervalMs":60000`, &yes, config(`"intervalMs":6e4`), false},
		"an interval in another way": {`"intervalMs":60000`, &yes, config(`"intervalMs":60000,"timezone":"Asia/Tokyo"`), false},
		"none any more":              {`"intervalMs":60000`, &yes, config(``), true},
	} {
		t.Run(claim, func(t *testing.T) {
			trg := mustNew(t, draft(func(d *trigger.Draft) {
				d.Config, d.Active = document(`{"scheduleConfig":{`+c.before+`}}`), c.active
			}))
			if err := trg.Revise(c.patch, tenant.Settings{}, later); err != nil {
				t.Fatal(err)
			}
			want := created
			if c.anew {
				want = later
			}
			if !trg.ActivatedAt().Equal(want) {
				t.Errorf("it took effect at %s, not at %s", trg.ActivatedAt(), want)
			}
		})
	}
}

func TestOutcomesAreValid(t *testing.T) {
	for _, o := range trigger.FireOutcomes() {
		if !o.Valid() {
			t.Errorf("%s is listed, but not valid", o)
		}
	}
}
