package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/chaos/attack"
	"github.com/sluicehq/sluice/deploy/harness"
)

// TestMain lets the program of the tests be the attacker, which a round starts by its own name.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == attackerCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestNoTenantTakesTheGatewayDownInASmallRound(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read from Linux's /proc")
	}
	ledger, err := runHostileRound(t.Context(), hostileOptions{
		options: options{seed: 7, tenantCount: 3, length: 24 * time.Second, settle: time.Minute, progress: t.Output()},
		memory:  384 << 20, store: "sqlite", attacks: attack.All(), perSecond: 10, perMinute: 3000,
		times: 5, least: time.Minute, // make hostile measures how quick it is; a test has no say in that
		size: attack.Size{Triggers: 60, Waiting: 300},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.report(t.Output()); err != nil {
		t.Error(err)
	}
}

func TestAProcessAboveItsMemoryIsEndedAndCounted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read from Linux's /proc")
	}
	binary := filepath.Join(t.TempDir(), "greedy")
	// It keeps a long text in a variable.
	if err := os.WriteFile(binary, []byte("#!/bin/sh\ntext=$(yes | head -c 2000000000)\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	greedy, err := newGateway("greedy", binary, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := greedy.start(); err != nil {
		t.Fatal(err)
	}
	defer greedy.close()
	g := &guard{gateway: greedy, limit: 64 << 20, found: newFindings()}
	g.setPhase("greed")
	cause := g.watch(t.Context())
	if peak, _ := g.report(); !strings.Contains(cause, "of 64 MiB") || peak <= 64<<20 || greedy.Process().ExitCode() != -1 {
		t.Errorf("%q, at %d bytes, exit code %d", cause, peak, greedy.Process().ExitCode())
	}
}

func TestSlownessUnderAttackBreaksAPromise(t *testing.T) {
	for claim, c := range map[string]struct {
		alone, attacked time.Duration
		broken          int
	}{
		"as quick as alone":              {50 * time.Millisecond, 50 * time.Millisecond, 0},
		"five times as slow":             {50 * time.Millisecond, 250 * time.Millisecond, 0},
		"six times as slow":              {50 * time.Millisecond, 300 * time.Millisecond, 1},
		"slower, and too quick to count": {time.Millisecond, 90 * time.Millisecond, 0},
	} {
		h := &hostileRound{env: &env{found: newFindings()}, settings: hostileOptions{times: 5, least: 20 * time.Millisecond}}
		h.compare("calls", map[bool][]time.Duration{false: {c.alone}, true: {c.attacked}})
		if got := h.found.broken(staysResponsive); got != c.broken {
			t.Errorf("%s: broken %d times", claim, got)
		}
	}
}

func TestDeathsAreSummedUpByPhase(t *testing.T) {
	got := deathsByPhase([]death{{"a", time.Second, ""}, {"a", 2 * time.Second, ""}, {"b", 3 * time.Second, ""}})
	want := []string{`2 in "a", the first 1s after its beginning`, `1 in "b", the first 3s after its beginning`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestWrongOptionsOfAHostileRoundAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-memory", "512"}, {"-memory", "0MiB"}, {"-minutes", "0"}, {"-store", "mysql"}, {"-attack", "none"}, {"-rate", "0"}, {"more"}} {
		if _, err := readHostileOptions(args, io.Discard); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	o, err := readHostileOptions([]string{"-memory", "1GiB", "-attack", "trees,events"}, io.Discard)
	if err != nil || o.memory != 1<<30 || len(o.attacks) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}
