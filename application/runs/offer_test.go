package runs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// crowded multiplies a run that waits: n others like it, created one after the other
// behind it. What they wait for is written down if known.
func (d *desk) crowded(id run.ID, n int, known bool) (ids []run.ID) {
	d.Helper()
	st := d.get(id).State()
	st.DedupeKey = ""
	var steps []outbound.RunStep
	var all []*run.Run
	for range n {
		st.ID, st.CreatedAt = run.ID(system.Random{}.ID(run.IDPrefix)), st.CreatedAt.Add(time.Millisecond)
		r := run.Restore(st)
		ids, all, steps = append(ids, st.ID), append(all, r), append(steps, outbound.RunStep{Run: r, From: st.Seq})
	}
	d.do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, all...)
		if err == nil && known {
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

func (r reading) Get(ctx context.Context, owner tenant.ID, id run.ID) (*run.Run, error) {
	*r.read = append(*r.read, id)
	return r.RunRepository.Get(ctx, owner, id)
}

// inquiring counts how often it is asked what runs wait for.
type inquiring struct {
	outbound.RunRepository
	times *int
}

func (a inquiring) Awaiting(ctx context.Context, owner tenant.ID, q outbound.AwaitingQuery) ([]run.Awaiting, error) {
	*a.times++
	return a.RunRepository.Awaiting(ctx, owner, q)
}

// reads lists the runs that are read whole while something happens.
func (d *desk) reads(during func()) (read []run.ID) {
	d.store.wrap = func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = reading{st.Runs.Runs, &read}
		return st
	}
	during()
	d.store.wrap = nil
	return read
}

func TestAnEventReadsOnlyTheRunsThatItCanResume(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		other := d.version([]string{`a waitForEvent {"event": "refunded"}`}, nil)
		pauses := d.version([]string{`a wait {"delayMs": 3600000}`}, nil)
		several := d.version([]string{forPaid, `b waitForEvent {"event": "refunded"}`}, nil)
		d.waiting(other, "e", 2)
		d.waiting(pauses, "e", 1)
		both := d.waiting(several, "e", 1)[0]
		fits := d.waiting(d.version([]string{forPaid}, nil), "e", 2)
		read := d.reads(func() { d.ingest("e", run.ResumeOptions{}) })
		d.same([]run.ID{both}, read)
		read = d.reads(func() { d.ingest("e", run.ResumeOptions{All: true}) })
		d.same(fits, read)
		if got := lines(d.get(both).Nodes(), func(n run.NodeState) string { return string(n.Status) }); got != "completed, waiting" {
			t.Errorf("the nodes of the one that waits for two events are %s", got)
		}
		read = d.reads(func() { d.ingest("e", run.ResumeOptions{All: true}) })
		d.same([]run.ID(nil), read)
	})
}

// Behind a thousand runs that wait for something else, the one that waits for the event
// is found, and those are told of.
func TestARunBehindAThousandOthersIsResumed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openPostgres(t)) // SQLite is slow under the race detector
	first := d.waiting(d.version([]string{`a waitForEvent {"event": "refunded"}`}, nil), "e", 1)[0]
	others := d.crowded(first, run.MaxSkipped, true)
	d.clock.Set(d.clock.Now().Add(time.Minute))
	last := d.waiting(d.version([]string{forPaid}, nil), "e", 2)
	for i, o := range []run.ResumeOptions{{}, {Runs: []run.ID{last[1], first, "run_absent"}}} {
		var in run.Ingested
		read := d.reads(func() { in = d.ingest("e", o) })
		d.same(last[i:i+1], read)
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
		d.same(want, in.Skipped)
	}
}

func TestOfMoreRunsThanFitNoneIsResumedUnlessTheyAreNamed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openPostgres(t))
	first := d.waiting(d.version([]string{forPaid}, nil), "e", 1)[0]
	all := append([]run.ID{first}, d.crowded(first, run.MaxOffered, true)...)
	entity := "e"
	c := run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity}}, Options: run.ResumeOptions{All: true}}
	var err error
	read := d.reads(func() { _, err = d.firing.Ingest(t.Context(), d.who, keyed("k"), c) })
	d.wantCode(err, domain.Conflict, "too_many_runs")
	d.same([]run.ID(nil), read)
	if !strings.Contains(err.Error(), fmt.Sprint(run.MaxOffered)) || d.get(first).Status() != run.StatusPaused {
		t.Error(err, d.get(first).Status())
	}
	c.Options.Runs = all[7:10]
	in, err := d.firing.Ingest(t.Context(), d.who, keyed("k"), c) // nothing is on record under the key
	if err != nil {
		t.Fatal(err)
	}
	var resumed []run.ID
	for _, r := range in.Resumed {
		resumed = append(resumed, r.Run)
	}
	d.same(all[7:10], resumed)

	times, nowhere := 0, tenant.SubTenantID("nowhere")
	d.store.wrap = func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = inquiring{st.Runs.Runs, &times}
		return st
	}
	d.crowded(all[1], 3, true)
	for claim, narrow := range map[string]func(*run.IngestCall){
		"a sub-tenant without any": func(c *run.IngestCall) { c.SubTenant = &nowhere },
		"a version without any":    func(c *run.IngestCall) { c.Options.Versions = []workflow.VersionID{"wfv_absent"} },
	} {
		times, c.Options, c.SubTenant = 0, run.ResumeOptions{}, nil
		narrow(&c)
		in, err := d.firing.Ingest(t.Context(), d.who, domain.Once{}, c)
		if err != nil || len(in.Resumed) > 0 || !in.Truncated || times != 2 { // for what to tell of, and for what to resume
			t.Errorf("for %s it is asked %d times: %v, %v, truncated %v", claim, times, err, in.Resumed, in.Truncated)
		}
	}
}

func TestAnAnswerThatDoesNotFitIsToldOf(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	asks := d.waiting(d.version([]string{forInput}, nil), "e", 2)
	trg := d.trigger(d.version(nil, nil), paid)
	problems := []domain.Violation{{Field: "eventData.value", Code: domain.WrongType, Message: "must be true or false, not a string"}}
	in := d.ingest("e", run.ResumeOptions{All: true}, `{"value":"perhaps"}`)
	d.same([]run.Skip{{Run: asks[0], Reason: run.SkipWrongEvent, Problems: problems}, {Run: asks[1], Reason: run.SkipWrongEvent, Problems: problems}}, in.Skipped)
	if len(in.Triggered) != 1 || in.Triggered[0].Trigger != trg.ID() {
		t.Errorf("%v is triggered", in.Triggered)
	}
	started := len(d.of(d.owner))

	entity := "e"
	c := run.IngestCall{
		EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity, EventData: body(`{"value":"perhaps"}`)}},
		Options:   run.ResumeOptions{Runs: []run.ID{asks[1], asks[1]}},
	}
	_, err := d.firing.Ingest(t.Context(), d.who, domain.Once{}, c)
	d.wantCode(err, domain.Invalid, run.CodeInputInvalid)
	var e *domain.Error
	if errors.As(err, &e) {
		d.same(problems, e.Violations)
	}
	if n := len(d.of(d.owner)); n != started {
		t.Errorf("%d runs were started", n-started)
	}
	c.EventData = body(`{"value":true}`)
	if in, err = d.firing.Ingest(t.Context(), d.who, domain.Once{}, c); err != nil || len(in.Resumed) != 1 || in.Resumed[0].Run != asks[1] {
		t.Errorf("%v, %v", in.Resumed, err)
	}
}

// Whose version is among many is offered the event behind others that refuse it.
func TestAnAnswerFindsTheRunThatTakesIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	first := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	refuse := append([]run.ID{first}, d.crowded(first, 60, true)...)
	d.clock.Set(d.clock.Now().Add(time.Minute))
	takes := d.waiting(d.version([]string{`a input {"inputType": "text"}`}, nil), "e", 1)
	in := d.ingest("e", run.ResumeOptions{}, `"yes"`)
	if len(in.Resumed) != 1 || in.Resumed[0].Run != takes[0] || len(in.Skipped) != len(refuse) {
		t.Errorf("resumed are %v, %d skipped", in.Resumed, len(in.Skipped))
	}
	if !slices.ContainsFunc(in.Skipped, func(s run.Skip) bool { return s.Run == refuse[60] && len(s.Problems) == 1 }) {
		t.Error("the last of those that refused it is not told of")
	}
}
