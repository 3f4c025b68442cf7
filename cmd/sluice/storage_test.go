package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheStorageOfATenantIsASize(t *testing.T) {
	skipUnderRace(t)
	for text, want := range map[string]byteSize{"0": 0, "1048576": 1 << 20, "10GiB": 10 << 30, "3 MiB": 3 << 20, "2GB": 2e9} {
		cfg, err := readConfig([]string{"SLUICE_STORAGE_PER_TENANT=" + text})
		if err != nil || cfg.TenantStorage != want {
			t.Errorf("%q is %d, %v", text, cfg.TenantStorage, err)
		}
	}
	for _, text := range []string{"-1", "GiB", "1.5GiB", "9000000000TiB", "9223372036854775808", "ten"} {
		_, err := readConfig([]string{"SLUICE_STORAGE_PER_TENANT=" + text})
		if err == nil || !strings.Contains(err.Error(), "SLUICE_STORAGE_PER_TENANT is not a size such as") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if cfg, err := readConfig(nil); err != nil || cfg.TenantStorage != 10<<30 {
		t.Errorf("without a setting it is %d, %v", cfg.TenantStorage, err)
	}
}

func TestRunsOfTenantsWithoutANumberOfDaysAreKeptAsTheSettingSays(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	for text, want := range map[string]string{"0": "SLUICE_RUN_RETENTION must be between 1 and 3650 days", "3651": "SLUICE_RUN_RETENTION must be between", "30d": "SLUICE_RUN_RETENTION is not a whole number"} {
		if _, err := readConfig([]string{"SLUICE_RUN_RETENTION=" + text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	b := newBinary(t, sqliteURL(t))
	b.ok("migrate", "up")
	all, own := fmt.Sprint(b.json("tenant", "create", "--name", "a")["tenantId"]), fmt.Sprint(b.json("tenant", "create", "--name", "b", "--run-retention-days", "7")["tenantId"])
	for setting, want := range map[string]map[string]float64{"": {all: 30, own: 7}, "90": {all: 90, own: 7}} {
		set := b
		if setting != "" {
			set.environ = append(set.environ[:len(set.environ):len(set.environ)], "SLUICE_RUN_RETENTION="+setting)
		}
		for id, days := range want {
			if got := set.json("tenant", "show", id)["runRetentionDays"]; got != days {
				t.Errorf("with %q the runs of %s are kept for %v days, not %v", setting, id, got, days)
			}
		}
	}
	if code, _, said := b.run("tenant", "create", "--name", "c", "--run-retention-days", "0"); code != exitUsage || !strings.Contains(said, "--run-retention-days must be at least 1") {
		t.Errorf("%d: %s", code, said)
	}
}
