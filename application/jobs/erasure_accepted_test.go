package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// alive is how many embed tokens of the tenant are not revoked.
func (d *env) alive() (n int) {
	d.Helper()
	page, err := domain.NewPageRequest(100, 0)
	if err != nil {
		d.Fatal(err)
	}
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.EmbedTokens.List(ctx, d.Owner, tenant.EmbedTokenFilter{}, page)
		n = 0
		for _, token := range found.Items {
			if token.RevokedAt() == nil {
				n++
			}
		}
		return err
	})
	return n
}

func TestTheKeysOfWhoIsErasedAreRevokedWhenThatIsAccepted(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.fill("else", "")
		others := d.alive()
		for subject, draft := range subjects() {
			d.fillFor(subject)
			if d.alive() != others+1 {
				d.Fatal("there is no token to be revoked")
			}
			id := d.ask(draft)
			if n := d.alive(); n != others {
				d.Errorf("of %s %d tokens are alive", subject, n-others)
			}
			if removed := d.finishErasure(d.Raw, id).Erasure().Removed.Keys; removed != 1 {
				d.Errorf("of %s %d tokens were removed", subject, removed)
			}
		}
		d.ask(job.ErasureDraft{Filter: &run.Filter{}})
		if n := d.alive(); n != others {
			d.Errorf("a filter revokes %d tokens", others-n)
		}
	})
}

func TestWhatASubTenantGetsAfterItsErasureWasAskedForStays(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.fillFor(job.OfSubTenant)
		id := d.ask(subjects()[job.OfSubTenant])
		at := d.Clock.Now()
		young := newID[workflow.ID](workflow.IDPrefix)
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return st.Workflows.Insert(ctx, workflow.Restore(workflow.State{
				ID: young, Tenant: d.Owner, SubTenant: name, Name: "Anew", Active: true, CreatedAt: at, UpdatedAt: at.Add(time.Second), Revision: 1,
			}))
		})
		if removed := d.finishErasure(d.Raw, id).Erasure().Removed.Records; removed != 4 {
			d.Errorf("%d records were removed", removed)
		}
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Workflows.Get(ctx, tenant.All(d.Owner), young)
			return err
		})
	})
}
