package trigger

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Outcome says what became of an instant at which a trigger was due.
type Outcome string

// The outcomes (execution rules, "The ledger").
const (
	Fired      Outcome = "fired"      // a run was started in time
	Late       Outcome = "late"       // a run was started, but late
	CaughtUp   Outcome = "caught_up"  // it was missed, and a run was started for it later
	Skipped    Outcome = "skipped"    // it was missed, and no run was started
	Suppressed Outcome = "suppressed" // no run was started although it was not missed: something stood against it
)

// Valid says whether o is an outcome that exists.
func (o Outcome) Valid() bool { return o.Starts() || o == Skipped || o == Suppressed }

// Starts says whether a run was started.
func (o Outcome) Starts() bool { return o == Fired || o == Late || o == CaughtUp }

// Fire is the ledger's entry for one instant of one trigger; there is one entry for
// each. Build one with [NewFire] or [RestoreFire].
type Fire struct{ state FireState }

// FireState is everything a store keeps of a fire.
type FireState struct {
	Trigger    ID
	Tenant     tenant.ID
	At         time.Time // when it was due; with Trigger it identifies the fire
	Outcome    Outcome
	Reason     string // for people; always given when no run was started
	RunID      string // the run that was started; empty when none was
	RecordedAt time.Time
}

// NewFire records what became of an instant. A run is named exactly when the
// outcome starts one, and a reason is given when it does not. The code is
// fire_invalid.
func NewFire(owner tenant.ID, of ID, p Planned, runID string, now time.Time) (*Fire, error) {
	var r domain.Rules
	r.Check(p.Outcome.Valid(), "outcome", domain.NotAllowed, "must be a known outcome, not %q", string(p.Outcome))
	if p.Outcome.Valid() {
		r.Check(p.Outcome.Starts() == (runID != ""), "runId", domain.Conflicting, "must be given exactly when a run was started")
		r.Check(p.Outcome.Starts() || p.Reason != "", "reason", domain.Required, "must say why no run was started")
	}
	r.Check(!p.At.IsZero(), "at", domain.Required, "must say when it was due")
	r.Check(!p.At.After(now), "at", domain.TooLarge, "must not be in the future")
	if err := r.Err("fire_invalid", "The fire is not valid."); err != nil {
		return nil, err
	}
	return &Fire{FireState{
		Trigger: of, Tenant: owner, At: p.At, Outcome: p.Outcome, Reason: p.Reason, RunID: runID, RecordedAt: now,
	}}, nil
}

// RestoreFire rebuilds a fire from what a store kept, without applying any rule.
func RestoreFire(s FireState) *Fire { return &Fire{s} }

// State returns what a store has to keep.
func (f *Fire) State() FireState { return f.state }
