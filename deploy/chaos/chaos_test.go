package main

import (
	"testing"
	"time"
)

func TestNothingIsLostInASmallStorm(t *testing.T) {
	account, err := storm(t.Context(), options{
		seed: 7, processes: 3, tenants: 3, runs: 300, length: 14 * time.Second, settle: 60 * time.Second,
		kills: 5, freezes: 1, restarts: 1, cuts: 1, stalls: 1, progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := account.print(t.Output()); err != nil {
		t.Error(err)
	}
	if err := account.err(); err != nil {
		t.Error(err)
	}
}
