package portstest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

var errOnPurpose = errors.New("on purpose")

// UnitOfWork is the contract of outbound.UnitOfWork.
func UnitOfWork(t *testing.T, open OpenStore) {
	concurrentUnits(t, open)
	cases(t, open, map[string]func(f fixture){
		"a unit that fails leaves no trace and its error comes back unchanged": func(f fixture) {
			var left tenant.ID
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme"}, noon)
				if err != nil {
					return err
				}
				left = ten.ID()
				if err := st.Tenants.Insert(ctx, ten); err != nil {
					return err
				}
				return errOnPurpose
			})
			if !errors.Is(err, errOnPurpose) || err.Error() != errOnPurpose.Error() {
				f.Errorf("the error came back as %v", err)
			}
			f.wantError(f.findTenant(left), domain.NotFound, "tenant_not_found")
		},
		"a unit that panics leaves no trace": func(f fixture) {
			wf := f.newWorkflow(f.tenant().ID(), "", "Orders")
			func() {
				defer func() { _ = recover() }()
				_ = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					if err := st.Workflows.Insert(ctx, wf); err != nil {
						return err
					}
					panic("on purpose")
				})
			}()
			err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Workflows.Get(ctx, tenant.All(wf.Tenant()), wf.ID())
				return err
			})
			f.wantError(err, domain.NotFound, "workflow_not_found")
		},
		"a failed write keeps the unit from committing although it is ignored": func(f fixture) {
			first := f.workflow(f.tenant().ID(), "")
			same := f.newWorkflow(first.Tenant(), "", first.Name())
			other := f.newWorkflow(first.Tenant(), "", "Another")
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_ = st.Workflows.Insert(ctx, same)  // fails: the name is taken
				_ = st.Workflows.Insert(ctx, other) // must not be kept
				return nil
			})
			f.wantError(err, domain.Conflict, "workflow_name_taken")
			err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Workflows.Get(ctx, tenant.All(other.Tenant()), other.ID())
				return err
			})
			f.wantError(err, domain.NotFound, "workflow_not_found")
		},
		"a cancelled context stops the unit": func(f fixture) {
			ten := f.tenant()
			ctx, cancel := context.WithCancel(f.Context())
			err := f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				if err := st.Tenants.Delete(ctx, ten.ID()); err != nil {
					return err
				}
				cancel()
				_, err := st.Tenants.Get(ctx, ten.ID())
				return err
			})
			if !errors.Is(err, context.Canceled) {
				f.Errorf("the error is %v", err)
			}
			if err := f.findTenant(ten.ID()); err != nil {
				f.Errorf("the cancelled unit took effect: %v", err)
			}
		},
		"a write inside a view is an error and has no effect": func(f fixture) {
			ten := f.tenant()
			err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Tenants.Delete(ctx, ten.ID())
			})
			if err == nil {
				f.Error("the write was accepted")
			}
			if err := f.findTenant(ten.ID()); err != nil {
				f.Errorf("the tenant is gone: %v", err)
			}
		},
	})
}

func concurrentUnits(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a view sees one snapshot while others write": func(f fixture) {
			ten := f.tenant()
			f.read(func(ctx context.Context, st outbound.Stores) error {
				if _, err := st.Tenants.Get(ctx, ten.ID()); err != nil {
					return err
				}
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, ten.ID()) })
				_, err := st.Tenants.Get(ctx, ten.ID())
				return err
			})
		},
		"units that race for one record have one winner and the others are told": func(f fixture) {
			ten := f.tenant()
			const racers = 8
			errs := make([]error, racers)
			var ready, done sync.WaitGroup
			ready.Add(racers)
			for i := range racers {
				done.Go(func() {
					read := sync.OnceFunc(ready.Done)
					mine, err := f.getTenant(ten.ID())
					read()
					ready.Wait()
					if err == nil {
						mine.Suspend(noon)
						err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, mine) })
					}
					errs[i] = err
				})
			}
			done.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
					continue
				}
				f.wantError(err, domain.Conflict, "stale_revision")
			}
			if won != 1 {
				f.Errorf("%d units won", won)
			}
		},
	})
}

func (f fixture) getTenant(id tenant.ID) (ten *tenant.Tenant, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err = st.Tenants.Get(ctx, id)
		return err
	})
	return ten, err
}

func (f fixture) findTenant(id tenant.ID) error {
	_, err := f.getTenant(id)
	return err
}
