package telemetry_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestCallsAreCountedByTenantWhereTheOperatorAsksForIt(t *testing.T) {
	const none = ` 0`
	series := func(label string, counts ...string) (lines []string) {
		for i, rest := range []string{`custom_node",outcome="failed"`, `custom_node",outcome="succeeded"`, `webhook",outcome="failed"`, `webhook",outcome="succeeded"`} {
			lines = append(lines, `sluice_tenant_calls_total{call="`+rest+`,tenant="`+label+`"}`+counts[i])
		}
		return lines
	}
	for claim, c := range map[string]struct {
		asked []string
		want  []string
	}{
		"nobody asked": {nil, nil},
		"of one":       {[]string{"tenant_1"}, append(series("other", none, " 1", none, none), series("tenant_1", none, none, " 1", " 2")...)},
		"of every one": {[]string{telemetry.EveryTenant}, append(append(series("other", none, none, none, none),
			series("tenant_1", none, none, " 1", " 2")...), series("tenant_2", none, " 1", none, none)...)},
	} {
		m := telemetry.New("test")
		m.LabelTenants(c.asked...)
		m.TenantCalled("tenant_1", telemetry.CallWebhook, true)
		m.TenantCalled("tenant_1", telemetry.CallWebhook, true)
		m.TenantCalled("tenant_1", telemetry.CallWebhook, false)
		m.TenantCalled("tenant_2", telemetry.CallCustomNode, true)
		m.TenantCalled("tenant_2", "unknown", true)
		want, got := make(map[string]bool), make(map[string]bool)
		for _, line := range c.want {
			want[line] = true
		}
		for _, line := range shown(t, m, "sluice_tenant_") {
			got[line] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestTenantsHaveNoMoreSeriesThanPermitted(t *testing.T) {
	m := telemetry.New("test")
	m.LabelTenants(telemetry.EveryTenant)
	var all sync.WaitGroup
	for half := range 2 {
		all.Go(func() {
			for i := range telemetry.MaxTenants {
				m.TenantCalled(tenant.ID(fmt.Sprintf("tenant_%d", i+half*500)), telemetry.CallWebhook, true)
			}
		})
	}
	all.Wait()
	labels, others := map[string]bool{}, ""
	for _, line := range shown(t, m, `sluice_tenant_calls_total{call="webhook",outcome="succeeded"`) {
		_, label, _ := strings.Cut(line, `tenant="`)
		label, count, _ := strings.Cut(label, `"} `)
		if labels[label] = true; label == telemetry.OtherTenants {
			others = count
		}
	}
	if len(labels) != telemetry.MaxTenants+1 || others == "0" || others == "" {
		t.Errorf("%d labels, and %q calls of others", len(labels), others)
	}
}
