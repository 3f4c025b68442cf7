package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Selections decide which triggers start a run with a payload. That computes, and belongs into no
// unit of work.
type Selections struct {
	compiler  run.Compiler
	computing Computing
	skipped   map[string]*atomic.Int64
	tally     *usage.Tally
}

// NewSelections computes within the budgets.
func NewSelections(compiler run.Compiler, budgets outbound.Budgets) *Selections {
	s := &Selections{compiler, NewComputing(budgets), make(map[string]*atomic.Int64), nil}
	for _, reason := range run.SkipReasons() {
		s.skipped[reason] = new(atomic.Int64)
	}
	return s
}

// WithTally counts by tenants, too.
func (s *Selections) WithTally(tally *usage.Tally) *Selections {
	s.tally = tally
	return s
}

// Count counts a trigger of a tenant that started no run, by one of the reasons of [run.SkipReasons].
func (s *Selections) Count(owner tenant.ID, reason string) {
	s.skipped[reason].Add(1)
	if reason == run.SkipFiltered {
		s.tally.Count(owner, usage.Counts{Filtered: 1})
		return
	}
	s.tally.Count(owner, usage.Counts{Skipped: 1})
}

// Counted is how often triggers started no run for a reason.
func (s *Selections) Counted(reason string) int64 { return s.skipped[reason].Load() }

// Of returns what each of the triggers, all of one tenant, makes of the payload.
func (s *Selections) Of(ctx context.Context, payload json.RawMessage, now time.Time, triggers []*trigger.Trigger) ([]run.Selection, error) {
	if len(triggers) == 0 {
		return nil, nil
	}
	values := domain.WeighJSON([]byte(payload)).Tree()
	made := make([]run.Selection, len(triggers))
	if values > s.computing.values {
		refused := domain.Fail(domain.Invalid, run.CodePayloadInvalid,
			"The values of the payload take %d bytes of memory, and the trigger can look at no more than %d.", values, s.computing.values)
		for i := range made {
			made[i].Refused = refused
		}
		return made, nil
	}
	var err error
	waited := s.computing.DoLong(ctx, triggers[0].Tenant(), run.MaxComputed+values, func() { made, err = s.selected(ctx, payload, now, triggers) })
	return made, cmp.Or(waited, err)
}

func (s *Selections) selected(ctx context.Context, payload json.RawMessage, now time.Time, triggers []*trigger.Trigger) ([]run.Selection, error) {
	selector, err := run.NewSelector(payload, s.compiler, now)
	if err != nil {
		return nil, err
	}
	made := make([]run.Selection, len(triggers))
	for i, trg := range triggers {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if i > 0 && selector.Used() > run.MaxSelectSteps {
			return nil, domain.Fail(domain.Conflict, "too_many_triggers",
				"Too many triggers listen for this event: their filters and payload schemas take more than %d steps together. Name a subTenantId, or use events of their own.", run.MaxSelectSteps)
		}
		made[i] = selector.Select(trg)
	}
	return made, nil
}
