package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// readStore is [outbound.UnitOfWork.Read] with a bound of time.
func (s *session) readStore(ctx context.Context, do func(context.Context, outbound.Stores) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.worker.work.Read(ctx, do)
}

// call finds which version an attempt calls, and what comes of that: a new run, which starts with
// the step that records it, or what a run gives that was started before with the same key.
func (j *job) call(ctx context.Context, e run.Execute) (run.Fact, error) {
	w, config := j.session.worker, e.Config
	id, _ := config[node.CalledMember].(string)
	key, _ := config["dedupeKey"].(string)
	waits, _ := config["wait"].(bool)
	payload, given := config["input"]
	if !given {
		payload = e.Input
	}
	start := run.CallStart{Run: run.ID(w.random.ID(run.IDPrefix)), Workflow: workflow.ID(id), Payload: payload, Waits: waits}
	var before run.ID
	err := j.session.readStore(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Version(ctx, tenant.All(e.Tenant), start.Workflow, "")
		switch {
		case err != nil:
			return err
		case found.SubTenant != e.SubTenant:
			return domain.Fail(domain.NotFound, "workflow_not_found", "There is no such workflow of this sub-tenant.")
		}
		if key != "" {
			start.DedupeKey = run.CallKey(start.Workflow, key)
			now, err := st.Runs.Queue.Now(ctx)
			if err != nil {
				return err
			}
			first, err := st.Runs.Overview.StartedWith(ctx, tenant.All(e.Tenant), []trigger.ID{""}, start.DedupeKey, now.Add(-outbound.DedupeRetention))
			if err != nil {
				return err
			}
			if before = first[0]; before != "" {
				return nil
			}
		}
		start.Version = found.Version
		return cmp.Or(execution.Startable(found, ""), w.allowance.CheckBytes(e.Tenant, found.Budgets, found.StoredBytes, e.Weight))
	})
	var refused *domain.Error
	switch {
	case errors.As(err, &refused) && refused.Kind != domain.Internal && refused.Kind != domain.Unavailable:
		return run.AttemptFailed{Node: e.Node, Attempt: e.Attempt, Code: run.CodeCallRefused, Message: refused.Message}, nil //nolint:nilerr // it is what came of the attempt
	case err != nil:
		return nil, err
	case before != "":
		return j.join(ctx, e, before, waits)
	}
	return run.AttemptCalled{Node: e.Node, Attempt: e.Attempt, Call: start}, nil
}

// join is a call of a run that was started before.
func (j *job) join(ctx context.Context, e run.Execute, before run.ID, waits bool) (run.Fact, error) {
	if !waits {
		return run.AttemptCompleted{Node: e.Node, Attempt: e.Attempt, Output: map[string]any{"runId": string(before)}}, nil
	}
	o, err := j.session.outcomeOf(ctx, e.Tenant, before)
	switch {
	case err != nil:
		return nil, err
	case !o.Status.Finished():
		return run.AttemptPostponed{Node: e.Node, Attempt: e.Attempt, Reason: fmt.Sprintf("Run %s, which was started with the same key, has not ended.", before)}, nil
	}
	return o.Answers(e.Node, e.Attempt), nil
}

// outcomeOf reads how far a run is, once there is memory for it. One that is gone counts as
// cancelled.
func (s *session) outcomeOf(ctx context.Context, owner tenant.ID, id run.ID) (o run.Outcome, err error) {
	var outline outbound.RunOutline
	err = s.readStore(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		outline, err = st.Runs.Origins.Of(ctx, tenant.All(owner), id)
		return err
	})
	if err == nil {
		waited := s.worker.computing.Do(ctx, owner, execution.Copies*outline.Size, func() {
			err = s.readStore(ctx, func(ctx context.Context, st outbound.Stores) error {
				r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), id)
				if err == nil {
					o = r.Outcome()
				}
				return err
			})
		})
		err = cmp.Or(waited, err)
	}
	if isCode(err, "run_not_found") {
		return run.Outcome{Run: id, Status: run.StatusCancelled}, nil
	}
	return o, err
}

// lookAtFamily takes in what has become of the runs that the run waits for, and whether its parent
// still wants it, where the run has been woken since it was last looked at.
func (j *job) lookAtFamily() jobOutcome {
	woken := j.woken.Load()
	if woken == j.looked {
		return jobContinue
	}
	family := append([]run.ID{j.run.Parent()}, j.run.WaitsFor()...)
	var statuses []run.Status
	var small run.Outcome // of the first that has ended, where it is
	var loops []run.Loop
	left := false
	err := j.session.readStore(j.session.units, func(ctx context.Context, st outbound.Stores) (err error) {
		if statuses, err = st.Runs.Families.Statuses(ctx, tenant.All(j.lease.Tenant), family); err != nil {
			return err
		}
		if loops, left, err = loopsAround(ctx, st, j.run); err != nil {
			return err
		}
		small, err = firstSmall(ctx, st, j.lease.Tenant, family[1:], statuses[1:])
		return err
	})
	if err != nil {
		return j.fail(err)
	}
	if (left || !j.run.Wants(statuses[0])) && !j.run.Status().Finished() {
		j.looked = woken
		return j.apply(run.CancelRequested{Reason: "The run that started this one has ended.", Unwanted: true})
	}
	var live run.ChildrenChanged
	for i, id := range family[1:] {
		if status := statuses[i+1]; status != "" && !status.Finished() {
			live.Children = append(live.Children, run.Outcome{Run: id, Status: status})
			continue
		}
		o, err := small, error(nil)
		if o.Run != id {
			o, err = j.session.outcomeOf(j.ctx, j.lease.Tenant, id)
		}
		switch {
		case err != nil && j.ctx.Err() != nil:
			return j.stopped()
		case err != nil:
			return j.fail(err)
		}
		if end := j.apply(run.ChildrenChanged{Children: []run.Outcome{o}}); end != jobContinue {
			return end // where others have ended as well, the run is due again: it has been woken since it was looked at
		}
	}
	for _, loop := range loops {
		if end := j.takeItems(loop); end != jobContinue {
			return end
		}
	}
	j.looked = woken
	return j.apply(live)
}

// firstSmall is the outcome of the first run that has ended, where it is small enough to be read
// along; else that of none.
func firstSmall(ctx context.Context, st outbound.Stores, owner tenant.ID, runs []run.ID, statuses []run.Status) (o run.Outcome, err error) {
	at := slices.IndexFunc(statuses, run.Status.Finished)
	if at < 0 {
		return o, nil
	}
	outline, err := st.Runs.Origins.Of(ctx, tenant.All(owner), runs[at])
	if err != nil || outline.Size > outbound.LargeRunBytes {
		return o, err
	}
	r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), runs[at])
	if err != nil {
		return o, err
	}
	return r.Outcome(), nil
}

// settle records that the family was looked at, though nothing came of it: until then the run is
// due.
func (j *job) settle() jobOutcome {
	keep := j.keeps()
	err := j.session.records.record(j.isBacklog(), run.Step{}, outbound.RunStep{Run: j.run, From: j.run.Seq(), Lease: j.lease, Keep: keep, Woken: j.looked})
	switch {
	case err != nil && !isCode(err, "stale_run"):
		return j.fail(err)
	case err != nil:
		return j.reload()
	case !keep:
		return jobDone
	}
	j.settled = j.looked
	return jobContinue
}
