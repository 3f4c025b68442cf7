package run_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestWhatARunWaitsForDecidesWhetherAnEventResumesIt(t *testing.T) {
	past, next := noon, noon.Add(time.Millisecond)
	for claim, c := range map[string]struct {
		awaits []run.Await
		want   string
	}{
		"nothing that an event brings":              {nil, run.SkipNotPaused},
		"the event":                                 {[]run.Await{{Event: "paid"}}, ""},
		"any event":                                 {[]run.Await{{}}, ""},
		"another event":                             {[]run.Await{{Event: "Paid"}}, run.SkipWrongEvent},
		"several, the event among them":             {[]run.Await{{Event: "sent"}, {Event: "paid"}}, ""},
		"the event, for a while yet":                {[]run.Await{{Event: "paid", Until: &next}}, ""},
		"the event, until now":                      {[]run.Await{{Event: "paid", Until: &past}}, run.SkipExpired},
		"the event, once until now and once beyond": {[]run.Await{{Event: "paid", Until: &past}, {Until: &next}}, ""},
		"another event, until now":                  {[]run.Await{{Event: "sent", Until: &past}}, run.SkipWrongEvent},
		"another event, and the event until now":    {[]run.Await{{Event: "sent"}, {Event: "paid", Until: &past}}, run.SkipExpired},
	} {
		if got := (run.Awaiting{Awaits: c.awaits}).Skip("paid", noon); got != c.want {
			t.Errorf("%s: %q, not %q", claim, got, c.want)
		}
	}
}

// What is known of a run without reading it agrees with what the run makes of an event,
// while nothing in it falls due.
func TestWhatIsKnownOfARunAgreesWithTheRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		a := newActor(rt, s)
		for range 20 {
			if a.run.Status().Finished() || !a.act() {
				return
			}
			event := rapid.SampledFrom([]string{"other", name(0), name(1), name(2), name(3)}).Draw(rt, "event")
			known := awaitingOf(a.run).Skip(event, a.now)
			copied := run.Restore(a.run.State())
			step, err := copied.Advance(a.plan, run.Event{At: a.now, Secret: secret, Fact: run.EventArrived{Event: event, Data: []byte(`"x"`)}})
			if err != nil {
				rt.Fatal(err)
			}
			refused := ""
			if step.Refused != nil && step.Refused.Code != run.CodeInputInvalid {
				refused = step.Refused.Code
			}
			if known != refused {
				rt.Fatalf("of %s it is known that it skips %s as %q, and it refuses it as %q", a.nodes(), event, known, refused)
			}
		}
	})
}

func TestTheRunsThatACallNamesAreToldApart(t *testing.T) {
	named := func(ids ...run.ID) run.IngestCall { return run.IngestCall{Options: run.ResumeOptions{Runs: ids}} }
	waiting := []run.Awaiting{{ID: "run_a"}, {ID: "run_b"}}
	absent := named("run_c", "run_b", "run_d", "run_c").Absent(waiting)
	if diff := cmp.Diff([]run.ID{"run_c", "run_d"}, absent); diff != "" {
		t.Error(diff)
	}
	team, other := tenant.SubTenantID("team"), tenant.SubTenantID("other")
	idle := []run.Awaiting{{ID: "run_d", SubTenant: team, Source: run.Source{Version: "wfv_a"}}}
	for claim, c := range map[string]struct {
		narrowed run.IngestCall
		want     string
	}{
		"of any sub-tenant and version": {named("run_c", "run_d"), run.SkipNotPaused},
		"of its own sub-tenant":         {run.IngestCall{EventCall: run.EventCall{SubTenant: &team}}, run.SkipNotPaused},
		"of another sub-tenant":         {run.IngestCall{EventCall: run.EventCall{SubTenant: &other}}, run.SkipFilteredOut},
		"of its own version":            {run.IngestCall{Options: run.ResumeOptions{Versions: []workflow.VersionID{"wfv_a"}}}, run.SkipNotPaused},
		"of another version":            {run.IngestCall{Options: run.ResumeOptions{Versions: []workflow.VersionID{"wfv_b"}}}, run.SkipFilteredOut},
	} {
		want := []run.Skip{{Run: "run_c", Reason: run.SkipFilteredOut}, {Run: "run_d", Reason: c.want}}
		if diff := cmp.Diff(want, c.narrowed.SkipAbsent(absent, idle)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
	for _, c := range []struct {
		call run.IngestCall
		id   run.ID
		only bool
	}{{named(), "", false}, {named("run_a"), "run_a", true}, {named("run_a", "run_a"), "run_a", true}, {named("run_a", "run_b", "run_a"), "", false}} {
		if id, only := c.call.OnlyRun(); id != c.id || only != c.only {
			t.Errorf("%v names %q, %v", c.call.Options.Runs, id, only)
		}
	}
	early, late := run.Awaiting{ID: "run_b", CreatedAt: noon}, run.Awaiting{ID: "run_a", CreatedAt: noon.Add(time.Second)}
	same := run.Awaiting{ID: "run_a", CreatedAt: noon}
	if !late.After(early) || early.After(late) || !early.After(same) || same.After(early) || same.After(same) {
		t.Error("the one that was created first does not come first")
	}
}

// awaitingOf is what a store returns of a run that waits.
func awaitingOf(r *run.Run) run.Awaiting {
	return run.Awaiting{ID: r.ID(), SubTenant: r.SubTenant(), Source: r.Source(), CreatedAt: r.CreatedAt(), Awaits: r.Awaits()}
}
