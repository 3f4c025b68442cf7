package runs

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.RunOutcomes = (*Service)(nil)

// maxOutcome is how large the output of a run may be that is waited for, in bytes of JSON.
const maxOutcome = 1 << 20

// Outcome waits for a run as those who follow it do: one goroutine listens, and one asks the store now and then, for all of them.
func (s *Service) Outcome(ctx context.Context, who tenant.Caller, id run.ID) (status run.Status, output []byte, err error) {
	if err := who.May(tenant.FollowRun); err != nil {
		return "", nil, err
	}
	follower, leave := s.followers.follow(outbound.RunKey{Scope: who.Scope, Run: id})
	defer leave()
	quiet := time.NewTimer(quietInterval)
	defer quiet.Stop()
	for {
		var seq, size int64
		err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			seqs, err := st.Runs.Overview.Seqs(ctx, []outbound.RunKey{{Scope: who.Scope, Run: id}})
			if err != nil {
				return err
			}
			statuses, err := st.Runs.Families.Statuses(ctx, who.Scope, []run.ID{id})
			if err != nil {
				return err
			}
			if seq, status = seqs[0], statuses[0]; status != run.StatusCompleted {
				return nil
			}
			outline, err := st.Runs.Origins.Of(ctx, who.Scope, id)
			size = outline.Size
			return err
		})
		switch {
		case err != nil:
			return "", nil, err
		case status == run.StatusCompleted:
			output, err = s.outputOf(ctx, who, id, size)
			return status, output, err
		case status.Finished() || status == "":
			return status, nil, nil
		}
		follower.seq.Store(seq) // the store may be ahead of it, never behind
		if err := wait(ctx, follower, quiet, func([]run.Entry) error { return nil }); err != nil {
			return "", nil, err
		}
	}
}

// outputOf reads what a run gave, within its memory; nil for what is too large to be answered with.
func (s *Service) outputOf(ctx context.Context, who tenant.Caller, id run.ID, size int64) (output []byte, err error) {
	waited := s.computing.Do(ctx, who.Tenant(), execution.Copies*size, func() {
		err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			r, err := st.Runs.Runs.Get(ctx, who.Scope, id)
			if err == nil {
				output, _ = r.Result(maxOutcome)
			}
			return err
		})
	})
	if waited != nil {
		return nil, waited
	}
	return output, err
}
