package runs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

// ring is a number of tenants with a free run each, of whom all have some leased but the
// last one.
func ring(tenants int) *turns {
	rows := make([]freeRow, tenants)
	for i := range rows {
		rows[i] = freeRow{Tenant: fmt.Sprint("t", i), ID: fmt.Sprint("run_", i), Leased: 1, Quota: 5}
	}
	rows[tenants-1].Leased = 0
	return turnsOf(rows)
}

func TestAClaimGoesOnAsManyTenantsAsItWantsRuns(t *testing.T) {
	for claim, c := range map[string]struct {
		tenants int
		want    string
	}{
		"where it has seen some of them, so that none waits for more claims than it must": {2 + extraTenants, "t1"},
		"and behind who came last where it has seen all":                                  {1 + extraTenants, "t0"},
	} {
		t.Run(claim, func(t *testing.T) {
			r := ring(c.tenants)
			chosen := r.chosen(2, 9)
			last := fmt.Sprint(c.tenants - 1)
			if diff := cmp.Diff([]core.KeyRow{{Tenant: "t" + last, ID: "run_" + last}, {Tenant: "t0", ID: "run_0"}}, chosen); diff != "" {
				t.Error(diff)
			}
			if got := r.next(2, chosen); got != c.want {
				t.Errorf("the next claim begins behind %s, not %s", got, c.want)
			}
		})
	}
}
