package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// failing makes an endpoint one that fails.
func failing(st *event.EndpointState) { st.FailingSince = &noon }

// DeliveryBounds is the contract of outbound.DeliveryQueue for leasing many deliveries of
// many tenants: who comes first, and who gets how much.
func DeliveryBounds(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"the tenants take turns": func(f webhooks) {
			flood, modest := f.tenant().ID(), f.tenant().ID()
			e, other := f.event(flood), f.event(modest)
			x, y, z := f.endpoint(flood), f.endpoint(flood), f.endpoint(modest)
			x1, x2, y1 := f.due(x, e, 1), f.due(x, e, 2), f.due(y, e, 3)
			z1, z2 := f.due(z, other, 5), f.due(z, other, 6)
			f.insert(x1, x2, y1, z1, z2)
			f.claims("three of them", 3, 9, x1, z1, x2)
			f.claims("the others", 9, 9, z2, y1)
		},
		"what is being sent to a tenant counts as its turns": func(f webhooks) {
			flood, modest := f.tenant().ID(), f.tenant().ID()
			e, other := f.event(flood), f.event(modest)
			x, z := f.endpoint(flood), f.endpoint(modest)
			x1, x2, x3 := f.due(x, e, 1), f.due(x, e, 2), f.due(x, e, 3)
			f.insert(x1, x2)
			f.claims("nobody else wants any", 2, 9, x1, x2)
			z1, z2, z3 := f.due(z, other, 5), f.due(z, other, 6), f.due(z, other, 7)
			f.insert(x3, z1, z2, z3)
			f.claims("the one that has less comes first", 2, 9, z1, z2)
			f.claims("and then by what is overdue", 2, 9, x3, z3)
		},
		"a tenant gets no more than its bound at the same time": func(f webhooks) {
			flood, modest := f.tenant().ID(), f.tenant().ID()
			e, other := f.event(flood), f.event(modest)
			x, y, z := f.endpoint(flood), f.endpoint(flood), f.endpoint(modest)
			x1, x2, y1, y2, z1 := f.due(x, e, 1), f.due(x, e, 2), f.due(y, e, 3), f.due(y, e, 4), f.due(z, other, 5)
			f.insert(x1, x2, y1, y2, z1)
			two := func(c *outbound.DeliveryClaim) { c.PerTenant = 2 }
			f.claimsWith("the first two, and those of the other one", two, x1, z1, x2)
			f.claimsWith("no place is left", two)
			f.settle(x1)
			f.claimsWith("one has ended", two, y1)
			f.claimsWith("another bound", func(c *outbound.DeliveryClaim) { c.PerTenant = 3 }, y2)
		},
		"an endpoint gets no more than its bound at the same time": func(f webhooks) {
			owner := f.tenant().ID()
			x, y, e := f.endpoint(owner), f.endpoint(owner), f.event(owner)
			x1, x2, x3, x4, y1 := f.due(x, e, 1), f.due(x, e, 2), f.due(x, e, 3), f.due(x, e, 4), f.due(y, e, 5)
			f.insert(x1, x2, x3, x4, y1)
			f.claims("the bound is not yet reached", 1, 2, x1)
			f.claims("one place is left", 9, 2, x2, y1)
			f.claims("no place is left", 9, 2)
			f.settle(x1)
			f.claims("one has ended", 9, 2, x3)
		},
		"an endpoint that fails gets one at a time, until it does not or is switched off": func(f webhooks) {
			owner := f.tenant().ID()
			x, y, e := f.endpoint(owner, failing), f.endpoint(owner), f.event(owner)
			off := f.endpoint(owner, failing, func(st *event.EndpointState) { st.Active = false })
			x1, x2, x3, y1, y2, off1, off2 := f.due(x, e, 1), f.due(x, e, 2), f.due(x, e, 3), f.due(y, e, 4), f.due(y, e, 5), f.due(off, e, 6), f.due(off, e, 7)
			f.insert(x1, x2, x3, y1, y2, off1, off2)
			f.claims("one of those that fail", 9, 9, x1, y1, y2, off1, off2)
			f.claims("no place is left", 9, 9)
			f.settle(x1)
			f.claims("one has ended", 9, 9, x2)
			f.recovers(x)
			f.claims("it has recovered", 9, 9, x3)
		},
		"no more than asked for go to endpoints that fail": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			e := f.event(owner)
			x, y, z, up := f.endpoint(owner, failing), f.endpoint(owner, failing), f.endpoint(other, failing), f.endpoint(owner)
			x1, y1, z1, up1 := f.due(x, e, 1), f.due(y, e, 2), f.due(z, f.event(other), 3), f.due(up, e, 4)
			f.insert(x1, y1, z1, up1)
			f.claimsWith("none", func(c *outbound.DeliveryClaim) { c.Failing = 0 }, up1)
			f.claimsWith("one less than there are", func(c *outbound.DeliveryClaim) { c.Failing = 2 }, z1, x1)
			f.claimsWith("the last", func(c *outbound.DeliveryClaim) { c.Failing = 2 }, y1)
		},
		"what is reserved goes to tenants to whom nothing is sent": func(f webhooks) {
			flood, modest, last := f.tenant().ID(), f.tenant().ID(), f.tenant().ID()
			e := f.event(flood)
			x, y, z := f.endpoint(flood), f.endpoint(modest), f.endpoint(last)
			x1, x2, x3, y1, z1 := f.due(x, e, 1), f.due(x, e, 2), f.due(x, e, 3), f.due(y, f.event(modest), 4), f.due(z, f.event(last), 5)
			f.insert(x1, x2, x3, y1)
			three := func(reserved int) func(*outbound.DeliveryClaim) {
				return func(c *outbound.DeliveryClaim) { c.Limit, c.Reserved = 3, reserved }
			}
			f.claimsWith("one is reserved, and nobody needs it", three(1), x1, y1)
			f.claimsWith("two are reserved", three(2), x2)
			f.insert(z1)
			f.claimsWith("all are reserved", three(3), z1)
			f.claimsWith("none is", three(0), x3)
		},
		"deliveries of a suspended tenant wait, and go on when it is resumed": func(f webhooks) {
			ten := f.tenant()
			to, e := f.endpoint(ten.ID()), f.event(ten.ID())
			d := f.due(to, e, 0)
			f.insert(d)
			for range 60 { // more than are looked at at first
				f.insert(f.due(to, e, 1))
			}
			change := func(verb func(*tenant.Tenant, time.Time)) {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					now, err := st.Tenants.Get(ctx, ten.ID())
					if err != nil {
						return err
					}
					verb(now, noon)
					return st.Tenants.Update(ctx, now)
				})
			}
			change((*tenant.Tenant).Suspend)
			f.claims("suspended", 9, 9)
			f.next("suspended", time.Time{})
			other := f.tenant().ID()
			theirs := f.due(f.endpoint(other), f.event(other), 70)
			f.insert(theirs)
			f.next("another tenant's", *theirs.NextAttemptAt)
			change((*tenant.Tenant).Resume)
			f.next("resumed", *d.NextAttemptAt)
			f.claims("resumed", 1, 9, d)
		},
	})
}

// recovers ends an endpoint's row of failures.
func (f webhooks) recovers(e *event.Endpoint) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		now, err := st.Endpoints.Get(ctx, tenant.All(e.Tenant()), e.ID())
		if err != nil {
			return err
		}
		now.Note(event.AttemptResult{Status: 204}, noon)
		return st.Endpoints.Update(ctx, now)
	})
}
