package schedules

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
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

// selected runs a unit until it has met no instant that is unknown.
func (s *Scheduler) selected(ctx context.Context, known selections, unit func() error) error {
	for range maxSelectionRounds {
		err := unit()
		open, isUnknown := errors.AsType[*errSelectionUnknown](err)
		if !isUnknown {
			return err
		}
		for _, one := range open.open {
			made, err := s.selections.Of(ctx, []byte(one.fire.Payload().String()), one.fire.RecordedAt(), []*trigger.Trigger{one.trigger})
			if err != nil {
				return err
			}
			known[one.key()] = made[0]
		}
	}
	return domain.Fail(domain.Unavailable, "database_busy", "The triggers keep changing.")
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
