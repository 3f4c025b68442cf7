package portstest

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// scopeList lists the sub-tenants of the records of a page, and their total. filter is of one
// sub-tenant, where the list has such a filter.
type scopeList func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) (subs []tenant.SubTenantID, total int, err error)

func subsOf[T any](found domain.Page[T], err error, sub func(T) tenant.SubTenantID) ([]tenant.SubTenantID, int, error) {
	subs := make([]tenant.SubTenantID, len(found.Items))
	for i, one := range found.Items {
		subs[i] = sub(one)
	}
	return subs, found.Total, err
}

var filteredLists = map[string]scopeList{
	"Workflows": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Workflows.List(ctx, scope, workflow.Filter{SubTenant: filter}, q)
		return subsOf(found, err, (*workflow.Workflow).SubTenant)
	},
	"Triggers": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Triggers.List(ctx, scope, trigger.Filter{SubTenant: filter}, q)
		return subsOf(found, err, (*trigger.Trigger).SubTenant)
	},
	"Runs": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Runs.Runs.List(ctx, scope, run.Filter{SubTenant: filter}, q)
		return subsOf(found, err, func(s run.Summary) tenant.SubTenantID { return s.SubTenant })
	},
	"Runs of a status": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Runs.Runs.List(ctx, scope, run.Filter{SubTenant: filter, Status: run.StatusPaused}, q)
		return subsOf(found, err, func(s run.Summary) tenant.SubTenantID { return s.SubTenant })
	},
	"Pauses": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Runs.Pauses.List(ctx, scope, run.PauseFilter{SubTenant: filter}, q)
		return subsOf(found, err, func(p run.OpenPause) tenant.SubTenantID { return p.SubTenant })
	},
	"Endpoints": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Webhooks.Endpoints.List(ctx, scope, event.EndpointFilter{SubTenant: filter}, q)
		return subsOf(found, err, (*event.Endpoint).SubTenant)
	},
	"Connections": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, filter *tenant.SubTenantID, q domain.Query) ([]tenant.SubTenantID, int, error) {
		found, err := st.Connections.List(ctx, scope, connection.Filter{SubTenant: filter}, q)
		return subsOf(found, err, (*connection.Connection).SubTenant)
	},
}

// collections give all records at once, without an order of their own.
var collections = map[string]func(ctx context.Context, st outbound.Stores, scope tenant.Scope) ([]tenant.SubTenantID, error){
	"Firing.OnEvent": func(ctx context.Context, st outbound.Stores, scope tenant.Scope) (subs []tenant.SubTenantID, err error) {
		found, err := st.Firing.OnEvent(ctx, scope, outbound.EventQuery{Event: "paid", Limit: 9})
		for _, one := range found {
			subs = append(subs, one.Trigger.SubTenant())
		}
		return subs, err
	},
	"Runs.Awaiting": func(ctx context.Context, st outbound.Stores, scope tenant.Scope) ([]tenant.SubTenantID, error) {
		return awaitingSubs(st.Runs.Runs.Awaiting(ctx, scope, outbound.AwaitingQuery{Entity: "e", Limit: 9}))
	},
	"Runs.Awaiting an event, behind another run": func(ctx context.Context, st outbound.Stores, scope tenant.Scope) ([]tenant.SubTenantID, error) {
		return awaitingSubs(st.Runs.Runs.Awaiting(ctx, scope, outbound.AwaitingQuery{Entity: "e", Event: "paid", After: &run.Awaiting{CreatedAt: noon}, Limit: 9}))
	},
	"Endpoints.Matching": func(ctx context.Context, st outbound.Stores, scope tenant.Scope) (subs []tenant.SubTenantID, err error) {
		for _, sub := range []tenant.SubTenantID{"a", "b"} { // that of no sub-tenant wants the events of all
			found, err := st.Webhooks.Endpoints.Matching(ctx, scope, event.RunFailed, sub, false)
			if err != nil {
				return nil, err
			}
			for _, e := range found {
				subs = append(subs, e.SubTenant())
			}
		}
		slices.Sort(subs)
		return slices.Compact(subs), nil
	},
}

func awaitingSubs(found []run.Awaiting, err error) (subs []tenant.SubTenantID, _ error) {
	for _, a := range found {
		subs = append(subs, a.SubTenant)
	}
	return subs, err
}

// listsWithinScopes reads each list twice, since pages may be kept, and the page past its end,
// which has the total alone.
func listsWithinScopes(f webhooks) {
	owner := f.tenant().ID()
	all := []tenant.SubTenantID{"", "a", "b"}
	workflows := make(map[tenant.SubTenantID]string)
	for _, sub := range all {
		workflows[sub] = string(f.segment(owner, sub).workflow)
	}
	ofBoth := []string{workflows["a"], workflows["b"]}
	scopes := map[string]tenant.Scope{
		"all": tenant.All(owner), "a": tenant.Only(owner, "a"), "none": tenant.Only(owner, ""),
		"two workflows": tenant.All(owner).OfWorkflows(ofBoth), "those of a": tenant.Only(owner, "a").OfWorkflows(ofBoth),
	}
	covered := func(list string, scope tenant.Scope, filter *tenant.SubTenantID) (subs []tenant.SubTenantID) {
		for _, sub := range all {
			belongsTo := workflows[sub]
			if strings.HasPrefix(list, "Endpoints") || list == "Connections" {
				belongsTo = ""
			}
			if scope.Covers(sub, belongsTo) && (filter == nil || *filter == sub) {
				subs = append(subs, sub)
			}
		}
		return subs
	}
	for range 2 {
		for name, scope := range scopes {
			f.listsWithin(name, scope, covered)
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				for what, list := range collections {
					subs, err := list(ctx, st, scope)
					if slices.Sort(subs); err != nil || !slices.Equal(subs, covered(what, scope, nil)) {
						f.Errorf("%s within %s: %q, %v", what, name, subs, err)
					}
				}
				return nil
			})
			f.registrationsWithin(name, scope, covered("Endpoints", scope, nil))
		}
	}
}

func (f fixture) listsWithin(name string, scope tenant.Scope, covered func(string, tenant.Scope, *tenant.SubTenantID) []tenant.SubTenantID) {
	f.Helper()
	a, b := tenant.SubTenantID("a"), tenant.SubTenantID("b")
	for what, list := range filteredLists {
		for _, filter := range []*tenant.SubTenantID{nil, &a, &b} {
			for _, offset := range []int{0, 5} {
				want := covered(what, scope, filter)
				f.newest(func(ctx context.Context, st outbound.Stores) error {
					subs, total, err := list(ctx, st, scope, filter, f.query("createdAt", 5, offset))
					if slices.Sort(subs); err != nil || total != len(want) || offset == 0 && !slices.Equal(subs, want) {
						f.Errorf("%s within %s at %d: %q of %d, not %q, %v", what, name, offset, subs, total, want, err)
					}
					return nil
				})
			}
		}
	}
}

// registrationsWithin checks the lists of sub-tenants: those of a scope are those that it covers.
func (f fixture) registrationsWithin(name string, scope tenant.Scope, covered []tenant.SubTenantID) {
	f.Helper()
	want := slices.DeleteFunc(covered, func(sub tenant.SubTenantID) bool { return sub == "" })
	f.read(func(ctx context.Context, st outbound.Stores) error {
		registered, err := st.SubTenants.List(ctx, scope, tenant.SubTenantFilter{}, domain.Query{})
		if err != nil {
			return err
		}
		seen, err := st.SubTenantDirectory.List(ctx, scope, nil, domain.PageRequest{})
		if err != nil {
			return err
		}
		var ids, seenIDs []tenant.SubTenantID
		for _, one := range registered.Items {
			ids = append(ids, one.SubTenant())
		}
		for _, one := range seen.Items {
			if seenIDs = append(seenIDs, one.SubTenant); one.Registration == nil {
				f.Errorf("%s is seen without its registration within %s", one.SubTenant, name)
			}
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) || registered.Total != len(want) || !slices.Equal(seenIDs, want) || seen.Total != len(want) {
			f.Errorf("within %s: %q of %d, and seen %q of %d, not %q", name, ids, registered.Total, seenIDs, seen.Total, want)
		}
		return nil
	})
}

// movedEndpoint moves an endpoint to another sub-tenant.
func movedEndpoint(f webhooks) {
	owner := f.tenant().ID()
	of := f.segment(owner, "a")
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		e, err := st.Endpoints.Get(ctx, tenant.Only(owner, "a"), of.endpoint)
		if err != nil {
			return err
		}
		state := e.State()
		state.SubTenant = "b"
		return st.Endpoints.Update(ctx, event.RestoreEndpoint(state))
	})
	for _, c := range []struct {
		scope tenant.Scope
		want  int
	}{{tenant.All(owner), 1}, {tenant.Only(owner, "a"), 0}, {tenant.Only(owner, "b"), 0}} {
		f.read(func(ctx context.Context, st outbound.Stores) error {
			found, err := st.Webhooks.Deliveries.List(ctx, c.scope, of.endpoint, event.DeliveryFilter{}, domain.Query{})
			if found.Total != c.want {
				f.Errorf("%d deliveries are within %+v", found.Total, c.scope)
			}
			if _, err := st.Webhooks.Deliveries.Get(ctx, c.scope, of.delivery); (err == nil) != (c.want == 1) {
				f.Errorf("the delivery within %+v: %v", c.scope, err)
			}
			return err
		})
	}
}

func customNodesWithinScopes(f webhooks) {
	owner := f.tenant().ID()
	made := node.RestoreCustom(f.customNode(owner, "enrich", "1.0.0", true))
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Insert(ctx, made) })
	for _, scope := range []tenant.Scope{tenant.All(owner), tenant.Only(owner, "a"), tenant.Only(owner, "")} {
		f.read(func(ctx context.Context, st outbound.Stores) error {
			got, err := st.CustomNodes.Get(ctx, scope, made.ID())
			if err != nil {
				return err
			}
			listed, err := st.CustomNodes.List(ctx, scope, node.CustomFilter{}, domain.Query{})
			if err != nil {
				return err
			}
			active, err := st.CustomNodes.Active(ctx, scope)
			if diff := cmp.Diff(made.State(), got.State()); diff != "" || listed.Total != 1 || len(active) != 1 {
				f.Errorf("within %+v: %d listed, %d active, %s", scope, listed.Total, len(active), diff)
			}
			return err
		})
	}
	remove := func(scope tenant.Scope, id node.CustomID) error {
		return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Delete(ctx, scope, id) })
	}
	within := tenant.Only(owner, "a")
	refused, toAbsent := remove(within, made.ID()), remove(within, "cn_absent")
	f.wantError(refused, domain.NotFound, "custom_node_not_found")
	if fmt.Sprint(refused) != fmt.Sprint(toAbsent) {
		f.Errorf("%q differs from %q", refused, toAbsent)
	}
	if err := remove(tenant.All(owner), made.ID()); err != nil {
		f.Error(err)
	}
}
