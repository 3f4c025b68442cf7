package trigger

import (
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// FireOutcome says what became of an instant at which a trigger was due.
type FireOutcome string

// What may become of a due time.
const (
	Fired      FireOutcome = "fired"      // a run was started in time
	Late       FireOutcome = "late"       // a run was started, but late
	CaughtUp   FireOutcome = "caught_up"  // it was missed, and a run was started for it later
	Skipped    FireOutcome = "skipped"    // it was missed, and no run was started
	Suppressed FireOutcome = "suppressed" // a run was to be started, and something stood against it
)

// FireOutcomes lists every outcome.
func FireOutcomes() []FireOutcome { return []FireOutcome{Fired, Late, CaughtUp, Skipped, Suppressed} }

// FireRetention is how long the ledger keeps an entry: as long as a run.
const FireRetention = 30 * 24 * time.Hour

// Valid says whether o is an outcome that exists.
func (o FireOutcome) Valid() bool { return o.Starts() || o == Skipped || o == Suppressed }

// Starts says whether a run was started.
func (o FireOutcome) Starts() bool { return o == Fired || o == Late || o == CaughtUp }

// Fire is the ledger's entry for one instant of one trigger; there is one entry for
// each. Build one with [NewFire] or [RestoreFire].
type Fire struct{ state FireState }

// FireState is everything a store keeps of a fire.
type FireState struct {
	Trigger    ID
	Tenant     tenant.ID
	At         time.Time // when it was due; with Trigger it identifies the fire
	Outcome    FireOutcome
	Reason     string // for people; always given when no run was started
	RunID      string // the run that was started; empty when none was
	RecordedAt time.Time
}

// NewFire records what became of an instant. A run is named exactly when the
// outcome starts one, and a reason is given when it does not. The code is
// fire_invalid.
func NewFire(owner tenant.ID, of ID, p PlannedFire, runID string, now time.Time) (*Fire, error) {
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

// Suppress notes that no run could be started after all, and why.
func (f *Fire) Suppress(reason string) {
	f.state.Outcome, f.state.Reason, f.state.RunID = Suppressed, f.state.Outcome.suppressedBy(reason), ""
}

// suppressedBy is why an instant with the outcome starts no run after all; it includes that
// it was missed first.
func (o FireOutcome) suppressedBy(reason string) string {
	if o == CaughtUp {
		return "missed while nothing could fire, and not caught up: " + reason
	}
	return reason
}

// Trigger is whose fire it is.
func (f *Fire) Trigger() ID { return f.state.Trigger }

// Tenant owns the trigger.
func (f *Fire) Tenant() tenant.ID { return f.state.Tenant }

// At is when it was due.
func (f *Fire) At() time.Time { return f.state.At }

// Outcome is what became of it.
func (f *Fire) Outcome() FireOutcome { return f.state.Outcome }

// Reason explains the outcome to people, empty where there is nothing to explain.
func (f *Fire) Reason() string { return f.state.Reason }

// RunID names the run that was started, empty when none was.
func (f *Fire) RunID() string { return f.state.RunID }

// RecordedAt is when it was dealt with: where a run was started, when it fired.
func (f *Fire) RecordedAt() time.Time { return f.state.RecordedAt }

// Payload is what the run gets to work with. The
// times are in UTC with milliseconds.
func (f *Fire) Payload() domain.Document {
	const layout = "2006-01-02T15:04:05.000Z"
	return domain.RestoreDocument(fmt.Sprintf(`{"triggerId":%q,"scheduledAt":%q,"firedAt":%q}`,
		string(f.state.Trigger), f.state.At.UTC().Format(layout), f.state.RecordedAt.UTC().Format(layout)))
}
