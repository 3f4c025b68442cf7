package portstest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// listed asks a list for a page and returns how many records came, of how many.
type listed func(ctx context.Context, st outbound.Stores, q domain.Query) (items, total int, err error)

func ofPage[T any](found domain.Page[T], err error) (items, total int, failed error) {
	return len(found.Items), found.Total, err
}

// BoundedLists is the contract of all lists for domain.Query.MaxBytes.
func BoundedLists(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a page above the bound is refused with its size, and one of that size is read": func(f fixture) {
			for what, list := range f.threeOfEach(f.tenant().ID()) {
				for how, unit := range map[string]func(context.Context, func(context.Context, outbound.Stores) error) error{
					"in a transaction": f.work.View, "without one": f.work.Read, "when it is known": f.work.Read,
				} {
					f.bounds(what+" "+how, list, unit)
				}
			}
		},
		"the size is that of the texts as they are stored": func(f fixture) {
			owner := f.tenant().ID()
			list := f.threeOfEach(owner)["triggers"]
			q := f.query("", 100, 1)
			q.MaxBytes = 1
			want := &domain.PageTooLarge{Records: 2, Bytes: 2 * (len("Größe1") + len(spacedConfig) + len("{}")), MaxBytes: 1}
			err := f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, _, err := list(ctx, st, q)
				return err
			})
			var got *domain.PageTooLarge
			if errors.As(err, &got); !cmp.Equal(want, got) {
				f.Errorf("the error is %v", err)
			}
			f.wantError(err, domain.Invalid, "page_too_large")
		},
	})
}

// bounds asks a list of three for the last two of them, with bounds.
func (f fixture) bounds(what string, list listed, unit func(context.Context, func(context.Context, outbound.Stores) error) error) {
	f.Helper()
	ask := func(limit, offset, most int) (items, total int, large *domain.PageTooLarge) {
		f.Helper()
		q := f.query("", limit, offset)
		q.MaxBytes = most
		err := unit(f.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
			items, total, err = list(ctx, st, q)
			return err
		})
		if err != nil && !errors.As(err, &large) {
			f.Fatalf("%s: %v", what, err)
		}
		return items, total, large
	}
	items, total, large := ask(2, 1, 0)
	if items != 2 || total != 3 || large != nil {
		f.Fatalf("%s: without a bound, %d of %d: %v", what, items, total, large)
	}
	if _, _, large = ask(2, 1, 1); large == nil || large.Records != 2 || large.MaxBytes != 1 {
		f.Fatalf("%s: within 1 byte: %+v", what, large)
	}
	size := large.Bytes
	if items, total, large = ask(2, 1, size); items != 2 || total != 3 || large != nil {
		f.Errorf("%s: within %d bytes, %d of %d: %v", what, size, items, total, large)
	}
	want := &domain.PageTooLarge{Records: 2, Bytes: size, MaxBytes: size - 1}
	if items, _, large = ask(2, 1, size-1); items != 0 || !cmp.Equal(want, large) {
		f.Errorf("%s: within a byte less: %d, and %+v, not %+v", what, items, large, want)
	}
	if items, total, large = ask(2, 3, 1); items != 0 || total != 3 || large != nil {
		f.Errorf("%s: past the end, %d of %d: %v", what, items, total, large)
	}
}

const spacedConfig = `{ "event": "é",  "more": [1, 2.50] }`

// threeOfEach stores three records of each kind and returns the lists of them.
func (f fixture) threeOfEach(owner tenant.ID) map[string]listed {
	f.Helper()
	wf := f.workflow(owner, "")
	ver := f.version(wf)
	about := "Ü"
	f.workflow(owner, "")
	f.version(wf)
	f.version(wf)
	firing := trigger.Restore(triggerState(f.version(f.workflow(owner, ""))))
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, firing) })
	hooks := newWebhooks(f)
	to := hooks.endpoint(owner)
	for i := range 3 {
		st := triggerState(ver)
		st.Name, st.Config = fmt.Sprint("Größe", i), trigger.RestoreConfig(spacedConfig)
		f.write(func(ctx context.Context, stores outbound.Stores) error {
			return stores.Triggers.Insert(ctx, trigger.Restore(st))
		})
		f.insertCustomNode(owner, node.Type(fmt.Sprint("acme.n", i)), "https://example.com/é")
		f.started(owner, func(st *run.State) { st.Entity = "é" })
		sub, err := tenant.NewSubTenant(tenant.RegistrationID(newID("st")), owner, tenant.SubTenantDraft{SubTenant: tenant.SubTenantID(fmt.Sprint(i)), Name: "é", Description: &about}, noon)
		if err != nil {
			f.Fatal(err)
		}
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.SubTenants.Insert(ctx, sub) })
		f.connection(owner)
		hooks.insert(deliveryState(to, hooks.event(owner)))
		f.record(trigger.RestoreFire(trigger.FireState{
			Trigger: firing.ID(), Tenant: owner, At: noon.Add(time.Duration(i) * time.Minute), Outcome: trigger.Skipped, Reason: "missed", RecordedAt: noon,
		}))
		if i > 0 {
			hooks.endpoint(owner, func(s *event.EndpointState) { s.Description = &about })
		}
	}
	return map[string]listed{
		"triggers": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Triggers.List(ctx, tenant.All(owner), trigger.Filter{Search: "größe"}, q))
		},
		"triggers of a version": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Triggers.List(ctx, tenant.All(owner), trigger.Filter{Version: ver.ID()}, q))
		},
		"fires": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Fires.List(ctx, tenant.All(owner), firing.ID(), trigger.FireFilter{}, q))
		},
		"versions": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Versions.List(ctx, tenant.All(owner), workflow.VersionFilter{Workflow: wf.ID()}, q))
		},
		"custom nodes": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.CustomNodes.List(ctx, tenant.All(owner), node.CustomFilter{}, q))
		},
		"workflows": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Workflows.List(ctx, tenant.All(owner), workflow.Filter{}, q))
		},
		"sub-tenants": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.SubTenants.List(ctx, tenant.All(owner), tenant.SubTenantFilter{}, q))
		},
		"runs": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Runs.Runs.List(ctx, tenant.All(owner), run.Filter{}, q))
		},
		"deliveries": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Webhooks.Deliveries.List(ctx, tenant.All(owner), to.ID(), event.DeliveryFilter{}, q))
		},
		"connections": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Connections.List(ctx, tenant.All(owner), connection.Filter{}, q))
		},
		"webhook endpoints": func(ctx context.Context, st outbound.Stores, q domain.Query) (int, int, error) {
			return ofPage(st.Webhooks.Endpoints.List(ctx, tenant.All(owner), event.EndpointFilter{}, q))
		},
	}
}
