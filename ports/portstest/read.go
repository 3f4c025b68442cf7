package portstest

import (
	"context"
	"errors"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Read is the contract of outbound.UnitOfWork.Read.
func Read(t *testing.T, open OpenStore) {
	listReads(t, open)
	cases(t, open, map[string]func(f fixture){
		"each call sees the newest state": func(f fixture) {
			ten := f.tenant()
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Tenants.Get(ctx, ten.ID())
				if err != nil {
					return err
				}
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, ten.ID()) })
				_, err = st.Tenants.Get(ctx, ten.ID())
				f.wantError(err, domain.NotFound, "tenant_not_found")
				return nil
			})
		},
		"an error comes back unchanged, and so does what is not found": func(f fixture) {
			err := f.work.Read(f.Context(), func(context.Context, outbound.Stores) error { return errOnPurpose })
			if !errors.Is(err, errOnPurpose) || err.Error() != errOnPurpose.Error() {
				f.Errorf("the error came back as %v", err)
			}
			err = f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Tenants.Get(ctx, "tenant_absent")
				return err
			})
			f.wantError(err, domain.NotFound, "tenant_not_found")
		},
		"a cancelled context stops it": func(f fixture) {
			ctx, cancel := context.WithCancel(f.Context())
			cancel()
			err := f.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Tenants.Get(ctx, "tenant_absent")
				return err
			})
			if !errors.Is(err, context.Canceled) {
				f.Errorf("the error is %v", err)
			}
		},
		"a write is an error and has no effect": func(f fixture) {
			wf := f.workflow(f.tenant().ID(), "")
			trg := f.newTrigger(f.version(wf), "Orders")
			for what, write := range map[string]func(context.Context, outbound.Stores) error{
				"a deletion":   func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, wf.Tenant()) },
				"an insertion": func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) },
				"drawing a version": func(ctx context.Context, st outbound.Stores) error {
					_, err := st.Workflows.NextVersion(ctx, tenant.All(wf.Tenant()), wf.ID())
					return err
				},
				"recording a fire": func(ctx context.Context, st outbound.Stores) error {
					_, err := st.Fires.Record(ctx, []*trigger.Fire{trigger.RestoreFire(trigger.FireState{
						Trigger: "trg_absent", Tenant: wf.Tenant(), At: noon, Outcome: trigger.Skipped, Reason: "missed", RecordedAt: noon,
					})})
					return err
				},
			} {
				if err := f.work.Read(f.Context(), write); err == nil {
					f.Errorf("%s was accepted", what)
				}
				ignoring := func(ctx context.Context, st outbound.Stores) error { _ = write(ctx, st); return nil }
				if err := f.work.Read(f.Context(), ignoring); err == nil {
					f.Errorf("%s that fn ignored was no error", what)
				}
			}
			if _, err := f.getTrigger(trg.Tenant(), trg.ID()); !errors.Is(err, domain.NotFound) {
				f.Errorf("the trigger: %v", err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				number, err := st.Workflows.NextVersion(ctx, tenant.All(wf.Tenant()), wf.ID())
				if number != 2 {
					f.Errorf("the next version is %d, not 2", number)
				}
				return err
			})
		},
	})
}

func listReads(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"lists know their total, on every page and past the end": func(f fixture) {
			owner := f.library()
			yes, team := true, tenant.SubTenantID("team")
			for _, c := range []struct {
				filter workflow.Filter
				want   int
			}{{workflow.Filter{}, 5}, {workflow.Filter{Active: &yes}, 4}, {workflow.Filter{SubTenant: &team}, 3}, {workflow.Filter{Search: "zet"}, 1}, {workflow.Filter{Search: "absent"}, 0}} {
				for offset := range 7 {
					f.newest(func(ctx context.Context, st outbound.Stores) error {
						found, err := st.Workflows.List(ctx, tenant.All(owner), c.filter, f.query("name", 2, offset))
						if items := min(2, max(0, c.want-offset)); err == nil && (found.Total != c.want || len(found.Items) != items) {
							f.Errorf("%+v at %d: %d items of %d, not %d of %d", c.filter, offset, len(found.Items), found.Total, items, c.want)
						}
						return err
					})
				}
			}
		},
		"a list agrees with its total while others write": func(f fixture) {
			owner := f.tenant().ID()
			stop := make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				for {
					k := f.newKey(owner, tenant.Secret, nil)
					err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Insert(ctx, k) })
					select {
					case <-stop:
						ended <- err
						return
					default:
						if err != nil {
							ended <- err
							return
						}
					}
				}
			}()
			page, err := domain.NewPageRequest(100, 0)
			if err != nil {
				f.Fatal(err)
			}
			for range 60 {
				f.newest(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.APIKeys.List(ctx, owner, page)
					if want := min(100, found.Total); err == nil && len(found.Items) != want {
						f.Errorf("%d items of %d", len(found.Items), found.Total)
					}
					return err
				})
			}
			close(stop)
			if err := <-ended; err != nil {
				f.Error(err)
			}
		},
	})
}

// newest runs fn in a Read that must succeed.
func (f fixture) newest(fn func(ctx context.Context, st outbound.Stores) error) {
	f.Helper()
	if err := f.work.Read(f.Context(), fn); err != nil {
		f.Fatalf("the read failed: %v", err)
	}
}
