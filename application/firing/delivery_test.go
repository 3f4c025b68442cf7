package firing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// copies multiplies a run that waits: n others like it, created one after the other
// behind it.
func (d *env) copies(id run.ID, n int) (ids []run.ID) {
	d.Helper()
	st := d.Get(id).State()
	st.DedupeKey = ""
	var steps []outbound.RunStep
	var all []*run.Run
	for range n {
		st.ID, st.CreatedAt = run.ID(system.Random{}.ID(run.IDPrefix)), st.CreatedAt.Add(time.Millisecond)
		r := run.Restore(st)
		ids, all, steps = append(ids, st.ID), append(all, r), append(steps, outbound.RunStep{Run: r, From: st.Seq})
	}
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, all...)
		if err == nil {
			err = st.Runs.Runs.Record(ctx, steps...)
		}
		return err
	})
	return ids
}

// reading counts which runs are read whole.
type reading struct {
	outbound.RunRepository
	read *[]run.ID
}

func (r reading) Get(ctx context.Context, scope tenant.Scope, id run.ID) (*run.Run, error) {
	*r.read = append(*r.read, id)
	return r.RunRepository.Get(ctx, scope, id)
}

// inquiring counts how often it is asked what runs wait for.
type inquiring struct {
	outbound.RunRepository
	times *int
}

func (a inquiring) Awaiting(ctx context.Context, scope tenant.Scope, q outbound.AwaitingQuery) ([]run.Awaiting, error) {
	*a.times++
	return a.RunRepository.Awaiting(ctx, scope, q)
}

// reads lists the runs that are read whole while something happens.
func (d *env) reads(during func()) (read []run.ID) {
	d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = reading{st.Runs.Runs, &read}
		return st
	}
	during()
	d.Store.WrapWrite = nil
	return read
}

func TestAnEventReadsOnlyTheRunsThatItCanResume(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		other := d.NewVersion([]string{`a waitForEvent {"event": "refunded"}`}, nil)
		pauses := d.NewVersion([]string{`a wait {"delayMs": 3600000}`}, nil)
		several := d.NewVersion([]string{fixture.WaitNode, `b waitForEvent {"event": "refunded"}`}, nil)
		d.Waiting(other, "e", 2)
		d.Waiting(pauses, "e", 1)
		both := d.Waiting(several, "e", 1)[0]
		fits := d.Waiting(d.NewVersion([]string{fixture.WaitNode}, nil), "e", 2)
		read := d.reads(func() { d.Ingest("e", run.ResumeOptions{}) })
		d.Same([]run.ID{both}, read)
		read = d.reads(func() { d.Ingest("e", run.ResumeOptions{All: true}) })
		d.Same(fits, read)
		if got := fixture.Lines(d.Get(both).Nodes(), func(n run.NodeState) string { return string(n.Status) }); got != "completed, waiting" {
			t.Errorf("the nodes of the one that waits for two events are %s", got)
		}
		read = d.reads(func() { d.Ingest("e", run.ResumeOptions{All: true}) })
		d.Same([]run.ID(nil), read)
	})
}

// Behind a thousand runs that wait for something else, the one that waits for the event
// is found, and those are told of.
func TestARunBehindAThousandOthersIsResumed(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenPostgres(t)) // SQLite is slow under the race detector
	first := d.Waiting(d.NewVersion([]string{`a waitForEvent {"event": "refunded"}`}, nil), "e", 1)[0]
	others := d.copies(first, run.MaxSkipped)
	d.Clock.Set(d.Clock.Now().Add(time.Minute))
	last := d.Waiting(d.NewVersion([]string{fixture.WaitNode}, nil), "e", 2)
	for i, o := range []run.ResumeOptions{{}, {Runs: []run.ID{last[1], first, "run_absent"}}} {
		var in run.Ingested
		read := d.reads(func() { in = d.Ingest("e", o) })
		d.Same(last[i:i+1], read)
		if len(in.Resumed) != 1 || in.Resumed[0].Run != last[i] || !in.Truncated {
			t.Errorf("resumed are %v, truncated %v", in.Resumed, in.Truncated)
		}
		want := []run.Skip{{Run: first, Reason: run.SkipWrongEvent}}
		reason := run.SkipWrongEvent
		if i > 0 {
			want, reason = []run.Skip{{Run: "run_absent", Reason: run.SkipFilteredOut}, want[0]}, run.SkipFilteredOut
		}
		for _, id := range others[:run.MaxSkipped-1] {
			want = append(want, run.Skip{Run: id, Reason: reason})
		}
		d.Same(want, in.Skipped)
	}
}

func TestOfMoreRunsThanFitNoneIsResumedUnlessTheyAreNamed(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenPostgres(t))
	first := d.Waiting(d.NewVersion([]string{fixture.WaitNode}, nil), "e", 1)[0]
	all := append([]run.ID{first}, d.copies(first, run.MaxOffered)...)
	entity := "e"
	c := run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity}}, Options: run.ResumeOptions{All: true}}
	var err error
	read := d.reads(func() { _, err = d.Firing.Ingest(t.Context(), d.Caller, fixture.Keyed("k"), c) })
	d.WantCode(err, domain.Conflict, "too_many_runs")
	d.Same([]run.ID(nil), read)
	if !strings.Contains(err.Error(), fmt.Sprint(run.MaxOffered)) || d.Get(first).Status() != run.StatusPaused {
		t.Error(err, d.Get(first).Status())
	}
	c.Options.Runs = all[7:10]
	in, err := d.Firing.Ingest(t.Context(), d.Caller, fixture.Keyed("k"), c) // nothing is on record under the key
	if err != nil {
		t.Fatal(err)
	}
	var resumed []run.ID
	for _, r := range in.Resumed {
		resumed = append(resumed, r.Run)
	}
	d.Same(all[7:10], resumed)

	times, nowhere := 0, tenant.SubTenantID("nowhere")
	d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = inquiring{st.Runs.Runs, &times}
		return st
	}
	d.copies(all[1], 3)
	for claim, narrow := range map[string]func(*run.IngestCall){
		"a sub-tenant without any": func(c *run.IngestCall) { c.SubTenant = &nowhere },
		"a version without any":    func(c *run.IngestCall) { c.Options.Versions = []workflow.VersionID{"wfv_absent"} },
	} {
		times, c.Options, c.SubTenant = 0, run.ResumeOptions{}, nil
		narrow(&c)
		in, err := d.Firing.Ingest(t.Context(), d.Caller, domain.IdempotencyKey{}, c)
		if err != nil || len(in.Resumed) > 0 || !in.Truncated || times != 2 { // for what to report, and for what to resume
			t.Errorf("for %s it is asked %d times: %v, %v, truncated %v", claim, times, err, in.Resumed, in.Truncated)
		}
	}
}

func TestAnAnswerThatDoesNotFitIsToldOf(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	asks := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 2)
	trg := d.NewTrigger(d.NewVersion(nil, nil), paid)
	problems := []domain.Violation{{Field: "eventData.value", Code: domain.WrongType, Message: "must be true or false, not a string"}}
	in := d.Ingest("e", run.ResumeOptions{All: true}, `{"value":"perhaps"}`)
	d.Same([]run.Skip{{Run: asks[0], Reason: run.SkipWrongEvent, Problems: problems}, {Run: asks[1], Reason: run.SkipWrongEvent, Problems: problems}}, in.Skipped)
	if len(in.Triggered) != 1 || in.Triggered[0].Trigger != trg.ID() {
		t.Errorf("%v is triggered", in.Triggered)
	}
	started := len(d.RunsOf(d.Owner))

	entity := "e"
	c := run.IngestCall{
		EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity, EventData: fixture.Body(`{"value":"perhaps"}`)}},
		Options:   run.ResumeOptions{Runs: []run.ID{asks[1], asks[1]}},
	}
	_, err := d.Firing.Ingest(t.Context(), d.Caller, domain.IdempotencyKey{}, c)
	d.WantCode(err, domain.Invalid, run.CodeInputInvalid)
	var e *domain.Error
	if errors.As(err, &e) {
		d.Same(problems, e.Violations)
	}
	if n := len(d.RunsOf(d.Owner)); n != started {
		t.Errorf("%d runs were started", n-started)
	}
	c.EventData = fixture.Body(`{"value":true}`)
	if in, err = d.Firing.Ingest(t.Context(), d.Caller, domain.IdempotencyKey{}, c); err != nil || len(in.Resumed) != 1 || in.Resumed[0].Run != asks[1] {
		t.Errorf("%v, %v", in.Resumed, err)
	}
}

// Whose version is among many is offered the event behind others that refuse it.
func TestAnAnswerFindsTheRunThatTakesIt(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	first := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	refuse := append([]run.ID{first}, d.copies(first, 60)...)
	d.Clock.Set(d.Clock.Now().Add(time.Minute))
	takes := d.Waiting(d.NewVersion([]string{`a input {"inputType": "text"}`}, nil), "e", 1)
	in := d.Ingest("e", run.ResumeOptions{}, `"yes"`)
	if len(in.Resumed) != 1 || in.Resumed[0].Run != takes[0] || len(in.Skipped) != len(refuse) {
		t.Errorf("resumed are %v, %d skipped", in.Resumed, len(in.Skipped))
	}
	if !slices.ContainsFunc(in.Skipped, func(s run.Skip) bool { return s.Run == refuse[60] && len(s.Problems) == 1 }) {
		t.Error("the last of those that refused it is not told of")
	}
}
