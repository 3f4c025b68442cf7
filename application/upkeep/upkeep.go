// Package upkeep implements inbound.Upkeep, what the gateway does for itself from
// time to time.
package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxRecords is how many records one unit of work removes: few enough that nobody waits
// for it.
const maxRecords = 500

// maxEvents is how many events one unit of work removes. Each takes its deliveries
// along, of which there may be as many as a tenant has endpoints.
const maxEvents = 50

// Service implements inbound.Upkeep.
type Service struct {
	work    outbound.UnitOfWork
	signals outbound.RunSignals
	clock   outbound.Clock
	random  outbound.Random
}

var _ inbound.Upkeep = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, signals outbound.RunSignals, clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, signals: signals, clock: clock, random: random}
}

// SweepOutcomes removes the outcomes of idempotent commands, the tenants' and the
// operator's, that no repeat can ask for any more.
func (s *Service) SweepOutcomes(ctx context.Context) (removed int, err error) {
	removed, err = s.sweep(ctx, domain.IdempotencyRetention, maxRecords, func(st outbound.Stores) sweeper { return st.Idempotency })
	more, errMore := s.sweep(ctx, domain.IdempotencyRetention, maxRecords, func(st outbound.Stores) sweeper { return st.OperatorIdempotency })
	return removed + more, errors.Join(err, errMore)
}

// SweepFires removes entries of the ledger of fires that were kept long enough.
func (s *Service) SweepFires(ctx context.Context) (removed int, err error) {
	return s.sweep(ctx, trigger.FireRetention, maxRecords, func(st outbound.Stores) sweeper { return st.Fires })
}

// SweepLeft forgets of triggers that they were left behind.
func (s *Service) SweepLeft(ctx context.Context) (forgotten int, err error) {
	return s.sweep(ctx, trigger.LeftBehindRetention, maxRecords, func(st outbound.Stores) sweeper { return st.Activation })
}

// SweepEvents removes events, with their deliveries, that were kept long enough.
func (s *Service) SweepEvents(ctx context.Context) (removed int, err error) {
	return s.sweep(ctx, event.Retention, maxEvents, func(st outbound.Stores) sweeper { return st.Webhooks.Events })
}

// SweepJobs removes jobs that ended long enough ago.
func (s *Service) SweepJobs(ctx context.Context) (removed int, err error) {
	return s.sweep(ctx, job.Retention, maxRecords, func(st outbound.Stores) sweeper { return st.Runs.Jobs })
}

// SweepHookKeys forgets what deliveries to hooks have started, where no sender repeats them any more.
func (s *Service) SweepHookKeys(ctx context.Context) (removed int, err error) {
	return s.sweep(ctx, hook.KeyRetention, maxRecords, func(st outbound.Stores) sweeper { return st.Hooks.Keys })
}

// SweepEmbedTokens removes embed tokens that expired long enough ago.
func (s *Service) SweepEmbedTokens(ctx context.Context) (removed int, err error) {
	return s.sweep(ctx, tenant.TokenRetention, maxRecords, func(st outbound.Stores) sweeper { return st.EmbedTokens })
}

// SweepSessions removes sessions of people, links by which they come in, and letters that nobody could send, that ended long enough ago.
func (s *Service) SweepSessions(ctx context.Context) (removed int, err error) {
	for _, of := range []func(outbound.Stores) sweeper{
		func(st outbound.Stores) sweeper { return st.Members.EndedSessions },
		func(st outbound.Stores) sweeper { return st.Members.EndedLinks },
		func(st outbound.Stores) sweeper { return st.Members.EndedLetters },
	} {
		n, failed := s.sweep(ctx, member.EndedRetention, maxRecords, of)
		removed, err = removed+n, errors.Join(err, failed)
	}
	return removed, err
}

// SweepProcesses removes processes that died and were remembered long enough.
func (s *Service) SweepProcesses(ctx context.Context) (removed int, err error) {
	return s.sweep(ctx, process.Retention, maxRecords, func(st outbound.Stores) sweeper { return st.Processes })
}

// sweeper is a repository that removes at most limit records from before a time.
type sweeper interface {
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// sweep removes what is older than its retention, some at a time.
func (s *Service) sweep(ctx context.Context, retention time.Duration, atOnce int, of func(outbound.Stores) sweeper) (removed int, err error) {
	before := s.clock.Now().Add(-retention)
	for {
		n := 0
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			n, err = of(st).Sweep(ctx, before, atOnce)
			return err
		})
		removed += n
		if err != nil || n < atOnce {
			return removed, err
		}
	}
}
