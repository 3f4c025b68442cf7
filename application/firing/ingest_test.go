package firing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// short says what became of an event with names in the place of identifiers.
func short(in run.Ingested, names map[run.ID]string) string {
	name := func(id run.ID) string {
		if n, ok := names[id]; ok {
			return n
		}
		return string(id)
	}
	return "resumed " + fixture.Lines(in.Resumed, func(r run.ResumedRun) string { return name(r.Run) + " of " + r.Entity }) +
		fmt.Sprintf("; triggered %d; skipped ", len(in.Triggered)) + fixture.Lines(in.Skipped, func(s run.Skip) string { return name(s.Run) + " " + s.Reason })
}

func TestAnEventResumesWhatWaitsForIt(t *testing.T) {
	onEachStore(t, func(d *env) {
		busy := d.NewVersion([]string{fixture.WaitNode, "b " + fixture.CallNode}, nil) // next to what waits, something works
		working := d.NewVersion([]string{"b " + fixture.CallNode}, nil)
		listens, asks, pauses := d.NewVersion([]string{fixture.WaitNode}, nil), d.NewVersion([]string{fixture.InputNode}, nil), d.NewVersion([]string{`a wait {"delayMs": 3600000}`}, nil)
		other := d.NewVersion([]string{`a waitForEvent {"event": "refunded"}`}, nil)
		d.NewTrigger(listens, paid)
		for claim, c := range map[string]struct {
			runs    []*workflow.Version
			options func(ids []run.ID) run.ResumeOptions
			data    string
			want    string
			left    string // statuses afterwards
		}{
			"the oldest one": {
				[]*workflow.Version{listens, listens}, nil, `{"n":1}`, "resumed 0 of E; triggered 0; skipped ", "completed paused",
			},
			"all of them": {
				[]*workflow.Version{listens, listens}, func([]run.ID) run.ResumeOptions { return run.ResumeOptions{All: true} }, `1`,
				"resumed 0 of E, 1 of E; triggered 0; skipped ", "completed completed",
			},
			"one that waits for an answer": {
				[]*workflow.Version{asks, listens}, nil, `true`, "resumed 0 of E; triggered 0; skipped ", "completed paused",
			},
			"one of which another node still works": {
				[]*workflow.Version{working, busy}, nil, `1`, "resumed 1 of E; triggered 0; skipped ", "running running",
			},
			"one behind those that wait for something else, or for a time": {
				[]*workflow.Version{other, pauses, listens}, nil, `1`, "resumed 2 of E; triggered 0; skipped 0 wrong_event, 1 not_paused", "paused paused completed",
			},
			"none that an answer does not fit": {
				[]*workflow.Version{asks}, nil, `"perhaps"`, "resumed ; triggered 1; skipped 0 wrong_event", "paused",
			},
			"only those that are named": {
				[]*workflow.Version{listens, listens, listens},
				func(ids []run.ID) run.ResumeOptions {
					return run.ResumeOptions{All: true, Runs: []run.ID{ids[1], "run_absent", "run_absent"}}
				}, `1`,
				"resumed 1 of E; triggered 0; skipped run_absent filtered_out, 0 filtered_out, 2 filtered_out", "paused completed paused",
			},
			"only those of versions that are named": {
				[]*workflow.Version{listens, other, asks},
				func([]run.ID) run.ResumeOptions {
					return run.ResumeOptions{Versions: []workflow.VersionID{asks.ID(), other.ID()}}
				}, `true`,
				"resumed 2 of E; triggered 0; skipped 0 filtered_out, 1 wrong_event", "paused paused completed",
			},
			"nothing, and triggers fire": {nil, nil, `1`, "resumed ; triggered 1; skipped ", ""},
		} {
			t.Run(claim, func(t *testing.T) {
				entity := claim
				var ids []run.ID
				names := make(map[run.ID]string)
				for i, ver := range c.runs {
					ids = append(ids, d.Waiting(ver, entity, 1)...)
					names[ids[i]] = fmt.Sprint(i)
				}
				var o run.ResumeOptions
				if c.options != nil {
					o = c.options(ids)
				}
				in := d.Ingest(entity, o, c.data)
				if got := strings.ReplaceAll(short(in, names), entity, "E"); got != c.want {
					t.Errorf("it says %s", got)
				}
				if got := strings.ReplaceAll(fixture.Lines(ids, func(id run.ID) string { return string(d.Get(id).Status()) }), ",", ""); got != c.left {
					t.Errorf("they are %s", got)
				}
				var touched []run.ID
				for _, r := range in.Resumed {
					touched = append(touched, r.Run)
				}
				for _, f := range in.Triggered {
					touched = append(touched, f.Run)
				}
				d.Same(touched, d.RecordedSignals.Since())
			})
		}
	})
}

func TestAnEventGivesItsDataToWhatItResumes(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.WaitNode, `b transform {"expression": "input.eventData.n + 1"}`}, []string{"a -> b"}), "e", 1)[0]
	d.Ingest("e", run.ResumeOptions{}, `{"n":1}`)
	r := d.Get(id)
	if output, _ := r.Output("b"); string(output) != "2" || r.Status() != run.StatusCompleted {
		t.Errorf("%s: %s", r.Status(), output)
	}
	d.Same([]string{"run.resumed", "run.completed"}, d.Events(id))
}

func TestWhatHasJustExpiredIsNotResumed(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{`a waitForEvent {"event": "paid", "timeoutMs": 1000}`}, nil), "e", 1)[0]
	d.Eventually("it expires", func() bool { return time.Since(d.Get(id).UpdatedAt()) > 1100*time.Millisecond })
	in := d.Ingest("e", run.ResumeOptions{})
	d.Same([]run.Skip{{Run: id, Reason: run.SkipExpired}}, in.Skipped)
	if r := d.Get(id); r.Status() != run.StatusPaused { // that is for a worker to notice, who is due
		t.Errorf("it is %s", r.Status())
	}
}

func TestAnEventWithoutAnEntityResumesNothing(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	in, err := d.Firing.Ingest(t.Context(), d.Caller, domain.IdempotencyKey{}, run.IngestCall{
		EventCall: run.EventCall{Event: "paid"}, Options: run.ResumeOptions{Runs: []run.ID{"run_absent"}},
	})
	d.Same(run.Ingested{Skipped: []run.Skip{{Run: "run_absent", Reason: run.SkipFilteredOut}}, Triggered: []run.Fired{}}, in)
	if err != nil {
		t.Error(err)
	}
}

func TestOfRunsAboutAnotherEntityNothingIsTold(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{fixture.WaitNode}, nil)
	done := d.Waiting(ver, "e", 1)[0]
	d.Ingest("e", run.ResumeOptions{}, "1")
	other := d.Waiting(ver, "other", 2)
	d.Ingest("other", run.ResumeOptions{}, "1")
	in := d.Ingest("e", run.ResumeOptions{All: true, Runs: []run.ID{other[0], done, other[1], "run_absent"}})
	d.Same([]run.Skip{
		{Run: other[0], Reason: run.SkipFilteredOut}, {Run: done, Reason: run.SkipNotPaused},
		{Run: other[1], Reason: run.SkipFilteredOut}, {Run: "run_absent", Reason: run.SkipFilteredOut},
	}, in.Skipped)
	d.Same(fixture.Lines([]run.ID{other[0], done, other[1]}, func(id run.ID) string { return string(d.Get(id).Status()) }), "completed, completed, paused")
}

func TestAnEventOfOneTenantIsNothingToAnother(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.WaitNode}, nil), "e", 1)[0]
	entity := "e"
	c := run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity}}, Options: run.ResumeOptions{Runs: []run.ID{id}}}
	in, err := d.Firing.Ingest(t.Context(), fixture.SecretCaller(d.NewTenant()), domain.IdempotencyKey{}, c)
	d.Same(run.Ingested{Skipped: []run.Skip{{Run: id, Reason: run.SkipFilteredOut}}, Triggered: []run.Fired{}}, in)
	if r := d.Get(id); err != nil || r.Status() != run.StatusPaused {
		t.Errorf("%s, %v", r.Status(), err)
	}
}

func TestAnIngestedEventHasItsEffectOnce(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ids := d.Waiting(d.NewVersion([]string{fixture.WaitNode}, nil), "e", 2)
	entity := "e"
	c := run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity}}}
	in, err := d.Firing.Ingest(t.Context(), d.Caller, fixture.Keyed("k"), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Firing.Ingest(t.Context(), d.Caller, fixture.Keyed("k"), c)
	if got := fixture.Replayed(err); got != fmt.Sprint(in) {
		t.Error(got)
	}
	if r := d.Get(ids[1]); r.Status() != run.StatusPaused {
		t.Errorf("it is %s", r.Status())
	}
	_, err = d.Firing.Ingest(t.Context(), tenant.Caller{Scope: tenant.All(d.Owner), KeyType: tenant.Public}, domain.IdempotencyKey{}, c)
	d.WantCode(err, domain.Forbidden, "key_type_not_allowed")
}
