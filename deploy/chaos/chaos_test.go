package main

import (
	"os"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
)

// The round shares its processors with the other tests, so that what waits for them may
// take longer than make chaos allows.
func TestNothingIsLostInASmallRound(t *testing.T) {
	ledger, err := runRound(t.Context(), options{
		engine: engineTable,
		seed:   7, processes: 3, tenantCount: 3, runs: 300, length: 14 * time.Second, settle: 60 * time.Second, recovery: 20 * time.Second,
		kills: 5, freezes: 1, restarts: 1, cuts: 1, stalls: 1, progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.report(t.Output()); err != nil {
		t.Error(err)
	}
}

// It starts a server of its own, since that is killed. make temporal has built the server's program.
func TestNothingIsLostInASmallRoundWithTemporal(t *testing.T) {
	if os.Getenv(fixture.TemporalVariable) == "" {
		t.Skip("it needs the program of a Temporal server, which make temporal builds")
	}
	ledger, err := runRound(t.Context(), options{
		engine: engineTemporal, engineKills: 2, engineAbsence: 15 * time.Second,
		seed: 7, processes: 3, tenantCount: 3, runs: 200, length: 45 * time.Second, settle: 2 * time.Minute, recovery: 20 * time.Second,
		kills: 4, freezes: 1, restarts: 1, cuts: 1, stalls: 1, progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.report(t.Output()); err != nil {
		t.Error(err)
	}
}
