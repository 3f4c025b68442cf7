package runs

import (
	"cmp"
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Who looks at a run of which an engine may have more than the database waits for recordTimeout until the process
// that works on the run has recorded it, and asks for that each recordPause: that process may not listen yet.
const (
	recordTimeout = 100 * time.Millisecond
	recordPause   = 25 * time.Millisecond
)

// isKept says whether an engine may have more of a run than the database.
func (s *Service) isKept(r *run.Run) bool {
	return r.Engine() == run.EngineTemporal && !r.IsAtRest(s.clock.Now())
}

// recordedOutline is the outline of a run once what an engine keeps of it is recorded, for whoever changes it.
func (s *Service) recordedOutline(ctx context.Context, scope tenant.Scope, id run.ID) (outbound.RunOutline, error) {
	outline, err := s.outlineOf(ctx, scope, id)
	if err != nil || outline.Engine != run.EngineTemporal {
		return outline, err
	}
	kept := false
	waited := s.computing.Do(ctx, scope.Tenant(), s.computing.Demand(outline.Size), func() {
		err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			r, err := st.Runs.Runs.Get(ctx, scope, id)
			kept = err == nil && s.isKept(r)
			return err
		})
	})
	if err = cmp.Or(waited, err); err != nil || !kept {
		return outline, err
	}
	s.awaitRecord(ctx, outbound.RunKey{Scope: scope, Run: id})
	return s.outlineOf(ctx, scope, id) // which may be larger now
}

// awaitRecord waits until the process that works on a run has recorded it. Where that process has ended, the
// database has all that there is for now.
func (s *Service) awaitRecord(ctx context.Context, key outbound.RunKey) {
	f, leave := s.followers.follow(key)
	defer leave()
	end := time.NewTimer(recordTimeout)
	defer end.Stop()
	again := time.NewTicker(recordPause)
	defer again.Stop()
	for {
		select {
		case <-f.woken:
			return
		case <-again.C:
			s.signals.RequestProgress(key.Run)
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
