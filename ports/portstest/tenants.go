package portstest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// TenantRepository is the contract of outbound.TenantRepository.
func TenantRepository(t *testing.T, open OpenStore) {
	tenantPages(t, open)
	cases(t, open, map[string]func(f fixture){
		"every field comes back": func(f fixture) {
			days := 7
			want := tenant.State{
				ID: tenant.ID(newID("tenant")), Name: "Café \"<&>' 漢", Status: tenant.Suspended,
				Settings: tenant.Settings{
					Language: tenant.BrazilianPortuguese, DisabledNodeTypes: []string{"wait", "input"},
					PublicTriggerCreation: tenant.PublicTriggersLimited, TriggersOnPublish: tenant.LeaveTriggers, CustomNodeEndpoint: "https://nodes.example/run",
					EmbedOrigins: []string{"https://app.example.com"},
					Events:       []tenant.Event{{Name: "order.paid", Label: "Paid"}, {Name: "x"}},
					Quotas:       map[tenant.KeyType]tenant.Quota{tenant.Public: {PerMinute: 7, Concurrent: 3}}, RunRetentionDays: &days,
				},
				CreatedAt: noon, UpdatedAt: noon.Add(time.Minute), Revision: 1,
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Tenants.Insert(ctx, tenant.Restore(want))
			})
			got, err := f.getTenant(want.ID)
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(want, got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"an update changes what it should and raises the revision": func(f fixture) {
			ten := f.tenant()
			name, language, perMinute := "New name", tenant.Spanish, 7
			patch := tenant.Patch{Name: &name, Language: &language, Quotas: map[tenant.KeyType]tenant.QuotaPatch{tenant.Secret: {PerMinute: &perMinute}}}
			if err := ten.Revise(patch, noon.Add(time.Hour)); err != nil {
				f.Fatal(err)
			}
			want := ten.State()
			want.Revision = 2
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) })
			got, err := f.getTenant(ten.ID())
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(want, got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"a stale update is refused and changes nothing": func(f fixture) {
			ten := f.tenant()
			stale := tenant.Restore(ten.State())
			ten.Suspend(noon.Add(time.Minute))
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) })
			name := "Stale"
			if err := stale.Revise(tenant.Patch{Name: &name}, noon); err != nil {
				f.Fatal(err)
			}
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, stale) })
			f.wantError(err, domain.Conflict, "stale_revision")
			if got, err := f.getTenant(ten.ID()); err != nil || got.Name() != "Acme" || got.Status() != tenant.Suspended {
				f.Errorf("the tenant is %v, %v", got, err)
			}
		},
		"an unknown tenant is not found by any method": func(f fixture) {
			absent := tenant.Restore(tenant.State{ID: "tenant_absent", Name: "Absent", Status: tenant.Active, CreatedAt: noon, UpdatedAt: noon, Revision: 1})
			f.wantError(f.findTenant("tenant_absent"), domain.NotFound, "tenant_not_found")
			for _, do := range []func(context.Context, outbound.Stores) error{
				func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, absent) },
				func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, absent.ID()) },
			} {
				f.wantError(f.work.Do(f.Context(), do), domain.NotFound, "tenant_not_found")
			}
		},
		"deleting removes everything the tenant owns and nothing of another": func(f fixture) {
			gone, stays := f.tenant(), f.tenant()
			keyOfStays := f.newKey(stays.ID(), tenant.Secret, nil)
			wfOfStays := f.workflow(stays.ID(), "")
			wf := f.workflow(gone.ID(), "")
			ver := f.version(wf)
			k := f.newKey(gone.ID(), tenant.Secret, nil)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				if err := st.APIKeys.Insert(ctx, keyOfStays); err != nil {
					return err
				}
				return st.APIKeys.Insert(ctx, k)
			})
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, gone.ID()) })
			f.read(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Credentials.Find(ctx, k.State().Hash)
				f.wantError(err, domain.NotFound, "api_key_not_found")
				_, err = st.Versions.Get(ctx, tenant.All(gone.ID()), ver.ID())
				f.wantError(err, domain.NotFound, "version_not_found")
				if _, err := st.Workflows.Get(ctx, tenant.All(stays.ID()), wfOfStays.ID()); err != nil {
					return err
				}
				_, err = st.Credentials.Find(ctx, keyOfStays.State().Hash)
				return err
			})
		},
	})
}

func tenantPages(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"pages are in order, newest first, do not overlap and know the total": func(f fixture) {
			var want []tenant.ID
			for i := range 5 {
				at := noon.Add(time.Duration(i/2) * time.Second) // ties in the instant
				ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: fmt.Sprintf("T%d", i)}, at)
				if err != nil {
					f.Fatal(err)
				}
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
				want = append([]tenant.ID{ten.ID()}, want...)
			}
			var got []tenant.ID
			for offset := 0; offset < 6; offset += 2 {
				page, err := domain.NewPageRequest(2, offset)
				if err != nil {
					f.Fatal(err)
				}
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Tenants.List(ctx, tenant.Filter{}, domain.Query{PageRequest: page})
					if found.Total != 5 || found.Limit != 2 || found.Offset != offset || found.HasMore() != (offset < 4) {
						f.Errorf("at %d: total %d, limit %d, offset %d, more %v", offset, found.Total, found.Limit, found.Offset, found.HasMore())
					}
					for _, ten := range found.Items {
						got = append(got, ten.ID())
					}
					return err
				})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				f.Error(diff)
			}
		},
	})
}
