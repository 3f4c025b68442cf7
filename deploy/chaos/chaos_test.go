package main

import (
	"testing"
	"time"
)

// The round shares its processors with the other tests, so that what waits for them may
// take longer than make chaos allows.
func TestNothingIsLostInASmallRound(t *testing.T) {
	ledger, err := runRound(t.Context(), options{
		seed: 7, processes: 3, tenantCount: 3, runs: 300, length: 14 * time.Second, settle: 60 * time.Second, recovery: 20 * time.Second,
		kills: 5, freezes: 1, restarts: 1, cuts: 1, stalls: 1, progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.report(t.Output()); err != nil {
		t.Error(err)
	}
}
