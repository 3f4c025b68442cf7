package run_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain/run"
)

func TestRunsOfItemsBeginOnTheTable(t *testing.T) {
	t.Parallel()
	for cause, want := range map[run.Cause]run.Engine{run.CauseItem: run.EngineTable, run.CauseCall: run.EngineTemporal, run.CauseIngest: run.EngineTemporal} {
		s := everything()
		s.Cause = cause
		r := run.Restore(s)
		if r.BeginOn(run.EngineTemporal); r.Engine() != want {
			t.Errorf("a run of %q begins on %q", cause, r.Engine())
		}
	}
}
