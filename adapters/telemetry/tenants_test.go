package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// deliver counts a webhook of a tenant that was answered with a status.
func deliver(t *testing.T, m *telemetry.Metrics, owner tenant.ID, status int) {
	t.Helper()
	if _, err := m.Sender(scripted{AttemptResult: event.AttemptResult{Status: status}}).Send(t.Context(), outbound.SignedMessage{Tenant: owner}); err != nil {
		t.Error(err)
	}
}

// completing is a runner whose attempts complete.
type completing struct{ outbound.NodeRunner }

func (completing) Run(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
	return outbound.NodeCompleted{}, nil
}

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
		for _, status := range []int{200, 204, 500} {
			deliver(t, m, "tenant_1", status)
		}
		if _, err := m.NodeRunner(completing{}).Run(t.Context(), outbound.NodeCall{Tenant: "tenant_2", Type: "acme.score"}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.NodeRunner(completing{}).Run(t.Context(), outbound.NodeCall{Tenant: "tenant_2", Type: node.HTTPRequest}); err != nil {
			t.Fatal(err)
		}
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
				deliver(t, m, tenant.ID(fmt.Sprintf("tenant_%d", i+half*500)), 200)
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
