package main

import (
	"strings"
	"testing"
)

func TestTheStorageOfATenantIsASize(t *testing.T) {
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
