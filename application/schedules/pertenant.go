package schedules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// failedDelay is how long a schedule waits that cannot be dealt with.
	failedDelay = time.Minute

	// busyDelay is how long a tenant's schedules wait that take too long: something of the
	// tenant is being waited for, and others must not wait with it.
	busyDelay = 30 * time.Second

	// retryBatch is how many schedules of a tenant are tried where many took too long: a store
	// that is slow gets on with these. Where tenants wait for one another, a bite may take
	// this part of what a unit may.
	retryBatch       = 20
	retryTimeoutPart = 5

	// perTenantUnits is how long a look deals with tenants one by one, in times of a unit.
	perTenantUnits = 3
)

var (
	errPostponed = errors.New("a schedule cannot be dealt with and is put off")
	errBusy      = errors.New("the schedules of a tenant take too long and are put off")
)

// firePerTenant deals with schedules tenant by tenant, after dealing with all of them in one
// unit has failed: what cannot be done for one tenant must not keep the others waiting.
// It returns how many schedules it dealt with, and what went wrong. Where it is the
// store, nothing is put off.
func (s *Scheduler) firePerTenant(ctx context.Context, now time.Time, limit int, claimed []outbound.DueSchedule, failure error) (looked int, err error) {
	why := reasonOf(ctx, failure)
	if len(claimed) == 0 || why == unreachable {
		return 0, failure
	}
	within, cancel := context.WithTimeout(ctx, perTenantUnits*s.timeout)
	defer cancel()
	owners := byOwner(claimed)
	for _, keys := range owners {
		timeout := s.timeout
		if why == busy {
			keys = keys[:min(retryBatch, len(keys))]
			if len(owners) > 1 {
				timeout /= retryTimeoutPart
			}
		}
		if within.Err() != nil {
			break // the rest stays due, and has its turn at the next look
		}
		n, failure := s.fireOwner(ctx, now, limit, timeout, keys)
		looked += n
		if failure == nil {
			continue
		}
		err = errors.Join(err, failure)
		switch reasonOf(ctx, failure) {
		case unreachable:
			return looked, err
		case busy:
			err = errors.Join(err, fmt.Errorf("%w: %s", errBusy, keys[0].Scope.Tenant()))
			if lost := s.postpone(ctx, now, now.Add(busyDelay), outbound.TriggerKey{Scope: keys[0].Scope}); lost != nil {
				return looked, errors.Join(err, lost)
			}
		}
	}
	if why == busy {
		err = errors.Join(failure, err)
	}
	return looked, err
}

// reason is why a unit failed.
type reason int

const (
	defect      reason = iota // it would do so again
	busy                      // somebody has what it needs, or all of it takes too long
	unreachable               // there is no store, or no time left
)

func reasonOf(ctx context.Context, err error) reason {
	var e *domain.Error
	switch {
	case ctx.Err() != nil:
		return unreachable
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Code == "database_busy":
		return busy
	case domain.KindOf(err) == domain.Unavailable:
		return unreachable
	default:
		return defect
	}
}

// byOwner sorts schedules by tenant, in the order in which they were claimed.
func byOwner(claimed []outbound.DueSchedule) (owners [][]outbound.TriggerKey) {
	places := make(map[tenant.ID]int)
	for _, d := range claimed {
		place, known := places[d.Trigger.Tenant()]
		if !known {
			place = len(owners)
			places[d.Trigger.Tenant()], owners = place, append(owners, nil)
		}
		owners[place] = append(owners[place], outbound.KeyOf(d.Trigger))
	}
	return owners
}

func claimOf(now time.Time, keys []outbound.TriggerKey) func(context.Context, outbound.Stores) ([]outbound.DueSchedule, error) {
	return func(ctx context.Context, st outbound.Stores) ([]outbound.DueSchedule, error) {
		return st.Schedules.DueOf(ctx, now, keys)
	}
}

// fireOwner deals with the schedules of one tenant within a time. Where something is
// wrong with one of them, it finds out which by halves, and puts that one off. Any other
// failure comes back as soon as it happens.
func (s *Scheduler) fireOwner(ctx context.Context, now time.Time, limit int, timeout time.Duration, keys []outbound.TriggerKey) (looked int, err error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for todo := [][]outbound.TriggerKey{keys}; len(todo) > 0; {
		keys, todo = todo[len(todo)-1], todo[:len(todo)-1]
		claimed, failure := s.fire(within, due{now: now, limit: limit, timeout: timeout, claim: claimOf(now, keys)})
		switch {
		case failure == nil:
			looked += len(claimed)
		case reasonOf(ctx, failure) != defect:
			return looked, errors.Join(err, failure)
		case len(keys) > 1:
			half := len(keys) / 2
			todo = append(todo, keys[half:], keys[:half])
		default:
			err = errors.Join(err, fmt.Errorf("%w: trigger %s of %s: %w", errPostponed, keys[0].Trigger, keys[0].Scope.Tenant(), failure))
			if lost := s.postpone(ctx, now, now.Add(failedDelay), keys[0]); lost != nil {
				return looked, errors.Join(err, lost)
			}
		}
	}
	return looked, err
}

// postpone makes schedules wait without dealing with them.
func (s *Scheduler) postpone(ctx context.Context, now, until time.Time, of outbound.TriggerKey) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Schedules.Postpone(ctx, now, until, of) })
}
