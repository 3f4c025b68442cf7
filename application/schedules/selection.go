package schedules

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// selections are what triggers make of their instants. A unit of work computes none.
type selections map[selectionKey]run.Selection

type selectionKey struct {
	trigger  trigger.ID
	revision int64
	at       time.Time
}

// selecting is an instant that a trigger has to look at.
type selecting struct {
	trigger *trigger.Trigger
	fire    *trigger.Fire
}

func (s selecting) key() selectionKey {
	return selectionKey{s.trigger.ID(), s.trigger.Revision(), s.fire.At()}
}

// of is what a trigger makes of an instant, as far as that is known.
func (known selections) of(about selecting) (made run.Selection, isKnown bool) {
	if !about.trigger.Config().Selects() {
		return run.Selection{}, true
	}
	made, isKnown = known[about.key()]
	return made, isKnown
}

// errSelectionUnknown is returned by a unit that met instants at which triggers have to look first.
type errSelectionUnknown struct{ open []selecting }

func (*errSelectionUnknown) Error() string { return "it is not known whether the triggers may fire" }

// maxSelectionRounds bounds how often a unit may meet further instants.
const maxSelectionRounds = 3

// selectTimeout is how long the schedules of all others wait until there is memory to look at an
// instant of a tenant.
const selectTimeout = 250 * time.Millisecond

// selected runs a unit until it has met no instant that is unknown. It runs without those that
// select of tenants who compute so much already that there was no memory for another look.
func (s *Scheduler) selected(ctx context.Context, known selections, unit func(without map[tenant.ID]bool) error) (without map[tenant.ID]bool, err error) {
	without = make(map[tenant.ID]bool)
	for range maxSelectionRounds {
		err := unit(without)
		open, isUnknown := errors.AsType[*errSelectionUnknown](err)
		if !isUnknown {
			return without, err
		}
		for _, one := range open.open {
			owner := one.trigger.Tenant()
			if without[owner] {
				continue
			}
			made, err := s.selection(ctx, one)
			switch {
			case err == nil:
				known[one.key()] = made
			case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
				without[owner] = true
			default:
				return nil, err
			}
		}
	}
	return nil, domain.Fail(domain.Unavailable, "database_busy", "The triggers keep changing.")
}

// selection finds what a trigger makes of an instant.
func (s *Scheduler) selection(ctx context.Context, about selecting) (run.Selection, error) {
	s.selecting.Lock()
	defer s.selecting.Unlock()
	ctx, cancel := context.WithTimeout(ctx, selectTimeout)
	defer cancel()
	made, err := s.selections.Of(ctx, []byte(about.fire.Payload().String()), about.fire.RecordedAt(), []*trigger.Trigger{about.trigger})
	if err != nil {
		return run.Selection{}, err
	}
	return made[0], nil
}

// refusalOf says why no run is started at an instant, for the count and for the ledger; both are
// empty where one is.
func refusalOf(s run.Selection) (reason, message string) {
	switch {
	case s.Refused != nil:
		return s.Refused.Code, s.Refused.Message
	case s.Filtered:
		return run.SkipFiltered, run.SkipFiltered
	}
	return "", ""
}
