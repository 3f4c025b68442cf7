package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/tenant"
)

const storageMetric = "sluice_tenant_storage_bytes"

func TestStorageIsShownByTenantWhereTheOperatorAsksForIt(t *testing.T) {
	kept := map[tenant.ID]int64{"tenant_1": 10, "tenant_2": 5, "tenant_3": 1}
	line := func(label string, bytes int) string {
		return fmt.Sprintf(`%s{tenant="%s"} %d`, storageMetric, label, bytes)
	}
	for claim, c := range map[string]struct {
		asked []string
		want  []string
	}{
		"nobody asked": {nil, []string{line("other", 16)}},
		"of two":       {[]string{"tenant_2", "tenant_9"}, []string{line("other", 11), line("tenant_2", 5), line("tenant_9", 0)}},
		"of every one": {[]string{telemetry.EveryTenant}, []string{line("other", 0), line("tenant_1", 10), line("tenant_2", 5), line("tenant_3", 1)}},
	} {
		m := telemetry.New("test")
		m.LabelTenants(c.asked...)
		m.Storage(func(context.Context) (map[tenant.ID]int64, error) { return kept, nil })
		if diff := cmp.Diff(c.want, slices.Sorted(slices.Values(shown(t, m, storageMetric)))); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestStorageHasNoMoreSeriesThanPermitted(t *testing.T) {
	kept := make(map[tenant.ID]int64)
	for i := range telemetry.MaxTenants + 10 {
		kept[tenant.ID(fmt.Sprintf("tenant_%d", i))] = int64(i)
	}
	m := telemetry.New("test")
	m.LabelTenants(telemetry.EveryTenant)
	m.Storage(func(context.Context) (map[tenant.ID]int64, error) { return kept, nil })
	lines := shown(t, m, storageMetric)
	if len(lines) != telemetry.MaxTenants+1 || !slices.Contains(lines, storageMetric+`{tenant="other"} 45`) {
		t.Errorf("%d lines, without the least ones", len(lines))
	}
}

func TestStorageIsReadAtMostEveryFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		m := telemetry.New("test")
		m.Storage(func(context.Context) (map[tenant.ID]int64, error) {
			reads++
			return map[tenant.ID]int64{"tenant_1": int64(reads)}, nil
		})
		for _, want := range []int{1, 1, 2} {
			if got := strings.Join(shown(t, m, storageMetric), ""); got != fmt.Sprintf(`%s{tenant="other"} %d`, storageMetric, want) {
				t.Error(got)
			}
			time.Sleep(8 * time.Second)
		}
	})
}

func TestStorageThatCannotBeReadIsLeftOutAndReadAgain(t *testing.T) {
	broken := true
	m := telemetry.New("test")
	m.Storage(func(context.Context) (map[tenant.ID]int64, error) {
		if broken {
			return nil, errors.New("the database is gone")
		}
		return nil, nil
	})
	if _, err := m.Gatherer().Gather(); err == nil || !strings.Contains(err.Error(), "storage of tenants: the database is gone") {
		t.Error(err)
	}
	broken = false
	if lines := shown(t, m, storageMetric); len(lines) != 1 {
		t.Error(lines)
	}
}
