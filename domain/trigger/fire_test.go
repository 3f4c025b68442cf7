package trigger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

func TestTheLedgerHoldsWhatBecameOfAnInstant(t *testing.T) {
	const run = "run_01kg2m8qpefx4tsjvnb6ax0c9d"
	for outcome, c := range map[trigger.FireOutcome]struct{ reason, run string }{
		trigger.Fired: {"", run}, trigger.Late: {"fired 7s after it was due", run}, trigger.CaughtUp: {"missed", run},
		trigger.Skipped: {"missed", ""}, trigger.Suppressed: {"the run before still goes on", ""},
	} {
		f, err := trigger.NewFire(owner, id, trigger.PlannedFire{At: created, Outcome: outcome, Reason: c.reason}, c.run, later)
		if err != nil {
			t.Errorf("%s: %v", outcome, err)
			continue
		}
		want := trigger.FireState{Trigger: id, Tenant: owner, At: created, Outcome: outcome, Reason: c.reason, RunID: c.run, RecordedAt: later}
		if diff := cmp.Diff(want, f.State()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, trigger.RestoreFire(want).State()); diff != "" {
			t.Error(diff)
		}
		if outcome.Starts() != (c.run != "") {
			t.Errorf("%s starts a run: %v", outcome, outcome.Starts())
		}
	}
}

func TestAFireThatContradictsItselfIsRefused(t *testing.T) {
	for claim, c := range map[string]struct {
		planned trigger.PlannedFire
		run     string
		want    string
	}{
		"no outcome": {trigger.PlannedFire{At: created, Outcome: "lost"}, "", "outcome [not_allowed] must be a known outcome, not \"lost\"\n"},
		"a run that was not started": {
			trigger.PlannedFire{At: created, Outcome: trigger.Skipped}, "run_x",
			"runId [conflicting] must be given exactly when a run was started\n" + "reason [required] must say why no run was started\n",
		},
		"a start without its run": {trigger.PlannedFire{At: created, Outcome: trigger.Late}, "", "runId [conflicting] must be given exactly when a run was started\n"},
		"an instant to come": {
			trigger.PlannedFire{At: later.Add(time.Millisecond), Outcome: trigger.Fired}, "run_x", "at [too_large] must not be in the future\n",
		},
		"no instant": {trigger.PlannedFire{Outcome: trigger.Fired}, "run_x", "at [required] must say when it was due\n"},
	} {
		t.Run(claim, func(t *testing.T) {
			f, err := trigger.NewFire(owner, id, c.planned, c.run, later)
			var e *domain.Error
			if !errors.As(err, &e) || e.Code != "fire_invalid" || f != nil {
				t.Fatalf("%v, %v", f, err)
			}
			if diff := cmp.Diff(c.want, reports(e.Violations)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
