package firing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// eventDelivery brings the event of a call to runs that wait, in one unit of work. It knows of
// all of them what they wait for; whole it reads, and holds, only those that the event
// can resume, one after another.
type eventDelivery struct {
	request *startRequest
	st      outbound.Stores
	call    run.IngestCall
	plans   planSet
	entity  string
	at      time.Time // by the database's clock

	resumed      []run.ResumedRun
	firstResumed *run.Awaiting   // the first of those that were resumed
	refused      []run.Skip      // of those that it was offered to, in their order
	problems     run.Problems    // that they found in it
	outcomes     map[run.ID]bool // whether it was resumed
	offered      int             // runs that it was offered to
	size         int             // of those
	steps        *execution.StepBuffer
	used         int64          // steps that they computed
	matching     []run.Awaiting // those that the event can resume and was not offered to, as far as it was looked
	lastPage     *run.Awaiting  // the last one that it was looked at
	exhausted    bool           // there are no others
}

// resumeWaiting brings the event to the runs about the entity of which a node waits, the
// oldest first. Other nodes of theirs may still work: the event is not sent again.
// An entity that the call does not name has none.
func (s *startRequest) resumeWaiting(ctx context.Context, st outbound.Stores, c run.IngestCall, known planSet) (in run.Ingested, err error) {
	o := &eventDelivery{request: s, st: st, call: c, plans: known, outcomes: make(map[run.ID]bool), steps: execution.NewStepBuffer(st, s.service.random)}
	var waiting, named []run.Awaiting
	var isNamed bool
	if o.entity, isNamed = c.EntityID(); isNamed {
		waiting, err = o.awaiting(ctx, outbound.AwaitingQuery{Limit: run.MaxSkipped + 1})
		if err != nil {
			return in, err
		}
	}
	if in.Truncated = len(waiting) > run.MaxSkipped; in.Truncated {
		waiting = waiting[:run.MaxSkipped]
	}
	if named = waiting; in.Truncated && len(c.Options.Runs) > 0 {
		if named, err = o.awaiting(ctx, outbound.AwaitingQuery{Runs: c.Options.Runs, Limit: run.MaxNarrowing}); err != nil {
			return in, err
		}
	}
	if in.Skipped, err = o.skipAbsent(ctx, c.Absent(named), isNamed); err != nil {
		return in, err
	}
	if len(waiting) == 0 {
		return in, nil
	}
	if o.at, err = st.Runs.Queue.Now(ctx); err != nil {
		return in, err
	}
	if !in.Truncated || len(c.Options.Runs) > 0 { // else they are looked for by the event
		o.exhausted = true
		o.add(named)
	}
	if err := o.deliverAll(ctx); err != nil {
		return in, err
	}
	o.request.changed = append(o.request.changed, o.steps.Roused...)
	in.Resumed = o.resumed
	in.Skipped = append(in.Skipped, o.skips(waiting)...)
	return in, nil
}

// skipAbsent says of the runs that the options name and of which nothing waits for an
// event why it did not resume them. Without an entity none is about it.
func (o *eventDelivery) skipAbsent(ctx context.Context, absent []run.ID, isNamed bool) ([]run.Skip, error) {
	if len(absent) == 0 || !isNamed {
		return o.call.SkipAbsent(absent, nil), nil
	}
	idle, err := o.st.Runs.Runs.Awaiting(ctx, o.request.who.Scope, outbound.AwaitingQuery{Entity: o.entity, Runs: absent, Idle: true, Limit: len(absent)})
	return o.call.SkipAbsent(absent, idle), err
}

// awaiting finds runs about the entity.
func (o *eventDelivery) awaiting(ctx context.Context, q outbound.AwaitingQuery) ([]run.Awaiting, error) {
	q.Entity = o.entity
	return o.st.Runs.Runs.Awaiting(ctx, o.request.who.Scope, q)
}

// add takes those that the event can resume.
func (o *eventDelivery) add(of []run.Awaiting) {
	for _, a := range of {
		if o.call.Matches(a) && a.Skip(o.call.Event, o.at) == "" {
			o.matching = append(o.matching, a)
		}
	}
}

// A single run is looked for among the first few; almost always it is the first.
const firstPage = 50

// fetch looks until there are enough that the event can resume, or no others.
func (o *eventDelivery) fetch(ctx context.Context, enough int) error {
	for !o.exhausted && len(o.matching) < enough {
		page, err := o.awaiting(ctx, outbound.AwaitingQuery{
			Event: o.call.Event, SubTenant: o.call.SubTenant, Versions: o.call.Options.Versions, After: o.lastPage, Limit: enough,
		})
		if err != nil {
			return err
		}
		o.add(page)
		if o.exhausted = len(page) < enough; !o.exhausted {
			o.lastPage = &page[len(page)-1]
		}
	}
	return nil
}

// deliverAll offers the event to all that it can resume, or until it has resumed one.
func (o *eventDelivery) deliverAll(ctx context.Context) error {
	enough := firstPage
	if o.call.Options.All {
		enough = run.MaxOffered + 1
	}
	for ; ; enough = run.MaxOffered + 1 {
		if err := o.fetch(ctx, enough); err != nil {
			return err
		}
		next := o.matching
		o.matching = nil
		if o.call.Options.All && o.offered+len(next) > run.MaxOffered {
			return tooManyRuns() // without a look at any
		}
		if open := o.plans.lacks(next); len(open) > 0 {
			return &errPlansMissing{open}
		}
		if err := o.holdLanes(ctx, next); err != nil {
			return err
		}
		for _, a := range next {
			if err := o.deliver(ctx, a); err != nil {
				return err
			}
			if len(o.resumed) > 0 && !o.call.Options.All {
				return o.steps.Flush(ctx)
			}
		}
		if o.exhausted {
			return o.steps.Flush(ctx)
		}
	}
}

// holdLanes holds the lanes of several runs that may end with the event.
func (o *eventDelivery) holdLanes(ctx context.Context, of []run.Awaiting) error {
	if len(of) < 2 || !o.request.memoryReserved {
		return nil
	}
	ids := make([]run.ID, len(of))
	for i, a := range of {
		ids[i] = a.ID
	}
	return o.st.Runs.Lanes.Hold(ctx, o.request.who.Tenant(), ids...)
}

// tooManyRuns is why an event is brought to none: some of the runs could not be told from
// all of them, and nobody would ever resume the others.
func tooManyRuns() error {
	return domain.Fail(domain.Conflict, "too_many_runs",
		"Too many runs about this entity wait for the event to bring it to them at once: at most %d, and %d MiB of what they hold together. "+
			"Nothing was resumed. Name some of them in resumeOptions.runIds, or their versions in resumeOptions.workflowVersionIds.",
		run.MaxOffered, run.MaxOfferedBytes>>20)
}

// deliver brings the event to one run, which may have moved on since it was looked at.
func (o *eventDelivery) deliver(ctx context.Context, a run.Awaiting) error {
	if !o.request.memoryReserved {
		return errNeedsMemory
	}
	r, err := o.st.Runs.Runs.Get(ctx, o.request.who.Scope, a.ID)
	if errors.Is(err, domain.NotFound) {
		o.refuse(run.Skip{Run: a.ID, Reason: run.SkipNotPaused})
		return nil
	}
	if err != nil {
		return err
	}
	from := r.Seq()
	o.offered++
	if o.size += r.Size(); o.offered > run.MaxOffered || o.offered > 1 && o.size > run.MaxOfferedBytes {
		return tooManyRuns()
	}
	step, err := o.advance(r, o.plans[a.Source], run.EventArrived{Event: o.call.Event, Data: o.call.Payload(), By: new(o.request.who.Actor())})
	if err != nil {
		return err
	}
	if o.used += step.Used.Steps; o.used > maxOfferedSteps && o.offered > 1 {
		return tooManyRuns()
	}
	if err := o.noteAnswer(a, r, step.Refused); err != nil {
		return err
	}
	if !step.Changed() {
		return nil
	}
	made := execution.Step{Made: step, Written: outbound.RunStep{Run: r, From: from}}
	o.request.changed = append(o.request.changed, a.ID)
	return o.steps.Add(ctx, made)
}

// advance gives a run the fact; without a plan its version is gone, and it refuses.
func (o *eventDelivery) advance(r *run.Run, plan *run.Plan, fact run.Fact) (run.Step, error) {
	if plan == nil {
		return run.Step{Refused: versionGone}, nil
	}
	budget := o.request.service.computing.StepBudget(max(1, execution.InlineSteps-o.used))
	return r.Advance(plan, run.Event{At: o.at, Secret: o.request.service.key.Secret(r.ID()), Fact: fact, Budget: budget})
}

// noteAnswer notes what a run made of the event. What the call is meant for alone, and does not
// take the event as the answer that it waits for, is the mistake of the caller.
func (o *eventDelivery) noteAnswer(a run.Awaiting, r *run.Run, refused *domain.Error) error {
	switch {
	case refused == nil:
		if o.firstResumed == nil {
			o.firstResumed = &a
		}
		o.outcomes[a.ID] = true
		o.resumed = append(o.resumed, run.ResumedRun{Run: a.ID, Entity: r.Entity(), Version: a.Version})
	case refused.Kind == domain.Invalid:
		if _, only := o.call.OnlyRun(); only {
			return refused
		}
		o.refuse(run.Skip{Run: a.ID, Reason: run.SkipWrongEvent, Problems: o.problems.Keep(refused.Violations)})
	default:
		o.refuse(run.Skip{Run: a.ID, Reason: refused.Code})
	}
	return nil
}

func (o *eventDelivery) refuse(s run.Skip) {
	o.outcomes[s.Run] = false
	o.refused = append(o.refused, s)
}

// maxOfferedSteps is how much runs may compute within the unit that offers the event.
const maxOfferedSteps = 5_000_000

// skips says of the oldest runs that wait why they were not resumed, and of all that it
// was offered to. Where only one was to be resumed, those behind it go on waiting for the
// next event, unless the options leave them out.
func (o *eventDelivery) skips(waiting []run.Awaiting) (skipped []run.Skip) {
	refused := o.refused
	for _, a := range waiting {
		resumed, offered := o.outcomes[a.ID]
		switch {
		case resumed:
		case offered:
			i := slices.IndexFunc(refused, func(s run.Skip) bool { return s.Run == a.ID })
			skipped, refused = append(skipped, refused[i]), slices.Delete(slices.Clone(refused), i, i+1)
		case !o.call.Matches(a):
			skipped = append(skipped, run.Skip{Run: a.ID, Reason: run.SkipFilteredOut})
		case o.firstResumed != nil && !o.call.Options.All && a.After(*o.firstResumed):
		default:
			if reason := a.Skip(o.call.Event, o.at); reason != "" {
				skipped = append(skipped, run.Skip{Run: a.ID, Reason: reason})
			}
		}
	}
	return append(skipped, refused...)
}
