package webhooks_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// memory is a store that holds outgoing events, the tenants that own them and the
// outcomes of commands. One unit runs at a time, on a copy.
type memory struct {
	mu     sync.Mutex
	data   *contents
	before func() // happens once, before the next unit
}

type contents struct {
	tenants    map[tenant.ID]bool
	endpoints  map[event.EndpointID]event.EndpointState
	events     map[event.ID]eventRow
	deliveries map[event.DeliveryID]event.DeliveryState
	outcomes   map[string][2]string
}

type eventRow struct {
	event.State
	waits bool
}

func newMemory() *memory {
	return &memory{data: &contents{
		map[tenant.ID]bool{}, map[event.EndpointID]event.EndpointState{}, map[event.ID]eventRow{},
		map[event.DeliveryID]event.DeliveryState{}, map[string][2]string{},
	}}
}

// unit is what a unit's repositories work on.
type unit struct{ *contents }

func (m *memory) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	if before := m.before; before != nil {
		m.before = nil
		before()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	u := unit{&contents{maps.Clone(m.data.tenants), maps.Clone(m.data.endpoints), maps.Clone(m.data.events), maps.Clone(m.data.deliveries), maps.Clone(m.data.outcomes)}}
	err := fn(ctx, outbound.Stores{Tenants: tenants{u: u}, Outcomes: outcomes{u: u}})
	if err == nil {
		m.data = u.contents
	}
	return err
}

func (m *memory) View(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	m.mu.Lock()
	u := unit{m.data} // a unit never changes what is there
	m.mu.Unlock()
	return fn(ctx, outbound.Stores{Tenants: tenants{u: u}, Outcomes: outcomes{u: u}})
}

func (m *memory) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return m.View(ctx, fn)
}

// webhookStores finds the repositories in a unit of memory.
func webhookStores(st outbound.Stores) outbound.WebhookStores {
	u := st.Outcomes.(outcomes).u
	return outbound.WebhookStores{Endpoints: endpoints{u}, Events: events{u}, Deliveries: deliveries{u}}
}

func TestTheSuiteHolds(t *testing.T) {
	portstest.WebhookStores(t, func(*testing.T) (outbound.UnitOfWork, func(outbound.Stores) outbound.WebhookStores) {
		return newMemory(), webhookStores
	})
}

type tenants struct {
	outbound.TenantRepository
	u unit
}

func (s tenants) Insert(_ context.Context, t *tenant.Tenant) error {
	s.u.tenants[t.ID()] = true
	return nil
}

func (s tenants) Delete(_ context.Context, id tenant.ID) error {
	maps.DeleteFunc(s.u.endpoints, func(_ event.EndpointID, e event.EndpointState) bool { return e.Tenant == id })
	maps.DeleteFunc(s.u.events, func(_ event.ID, e eventRow) bool { return e.Tenant == id })
	maps.DeleteFunc(s.u.deliveries, func(_ event.DeliveryID, d event.DeliveryState) bool { return d.Tenant == id })
	return nil
}

type outcomes struct {
	outbound.OutcomeRepository
	u unit
}

func (s outcomes) Claim(_ context.Context, owner tenant.ID, once domain.Once, _ time.Time) error {
	kept, ok := s.u.outcomes[string(owner)+once.Scope+once.Key]
	if !once.Wanted() || !ok {
		return nil
	}
	return once.CheckReplay(kept[0], []byte(kept[1]))
}

func (s outcomes) Keep(_ context.Context, owner tenant.ID, once domain.Once, outcome any, _ time.Time) error {
	if !once.Wanted() {
		return nil
	}
	answer, err := once.Answer(outcome)
	s.u.outcomes[string(owner)+once.Scope+once.Key] = [2]string{once.Fingerprint, string(answer)}
	return err
}

// page sorts and cuts what fits.
func page[S, A any](all []S, q domain.Query, restore func(S) A, key func(S) time.Time, id func(S) string) domain.Page[A] {
	slices.SortFunc(all, func(a, b S) int {
		c := cmp.Or(key(a).Compare(key(b)), strings.Compare(id(a), id(b)))
		if !q.Ascending {
			c = -c
		}
		return c
	})
	found := domain.Page[A]{Total: len(all), Limit: q.Limit(), Offset: q.Offset()}
	for i := found.Offset; i < min(len(all), found.Offset+found.Limit); i++ {
		found.Items = append(found.Items, restore(all[i]))
	}
	return found
}

func absent(code string) error { return domain.Fail(domain.NotFound, code, "There is none.") }

var errStale = domain.Fail(domain.Conflict, "stale_revision", "It was changed.")

type endpoints struct{ u unit }

func (s endpoints) Insert(_ context.Context, e *event.Endpoint) error {
	s.u.endpoints[e.ID()] = e.State()
	return nil
}

func (s endpoints) Get(_ context.Context, owner tenant.ID, id event.EndpointID) (*event.Endpoint, error) {
	if e, ok := s.u.endpoints[id]; ok && e.Tenant == owner {
		return event.RestoreEndpoint(e), nil
	}
	return nil, absent("webhook_endpoint_not_found")
}

func (s endpoints) List(_ context.Context, owner tenant.ID, f event.EndpointFilter, q domain.Query) (domain.Page[*event.Endpoint], error) {
	var fit []event.EndpointState
	for _, e := range s.u.endpoints {
		about := ""
		if e.Description != nil {
			about = *e.Description
		}
		text, term := strings.ToLower(e.URL+"\n"+about), strings.ToLower(f.Search)
		if e.Tenant == owner && (f.SubTenant == nil || *f.SubTenant == e.SubTenant) && (f.Active == nil || *f.Active == e.Active) && strings.Contains(text, term) {
			fit = append(fit, e)
		}
	}
	return page(fit, q, event.RestoreEndpoint, func(e event.EndpointState) time.Time {
		if q.By() == "updatedAt" {
			return e.UpdatedAt
		}
		return e.CreatedAt
	}, func(e event.EndpointState) string { return string(e.ID) }), nil
}

func (s endpoints) Matching(_ context.Context, owner tenant.ID, t event.Type, sub tenant.SubTenantID) (found []*event.Endpoint, err error) {
	for _, id := range slices.Sorted(maps.Keys(s.u.endpoints)) {
		if e := event.RestoreEndpoint(s.u.endpoints[id]); e.Tenant() == owner && e.Wants(t, sub) {
			found = append(found, e)
		}
	}
	return found, nil
}

func (s endpoints) Update(_ context.Context, e *event.Endpoint) error {
	known, ok := s.u.endpoints[e.ID()]
	switch {
	case !ok || known.Tenant != e.Tenant():
		return absent("webhook_endpoint_not_found")
	case known.Revision != e.Revision():
		return errStale
	}
	e.Saved()
	s.u.endpoints[e.ID()] = e.State()
	return nil
}

func (s endpoints) Delete(ctx context.Context, owner tenant.ID, id event.EndpointID) error {
	if _, err := s.Get(ctx, owner, id); err != nil {
		return err
	}
	delete(s.u.endpoints, id)
	maps.DeleteFunc(s.u.deliveries, func(_ event.DeliveryID, d event.DeliveryState) bool { return d.Endpoint == id })
	return nil
}

type events struct{ u unit }

func (s events) Append(_ context.Context, all ...*event.Event) error {
	for _, e := range all {
		s.u.events[e.ID()] = eventRow{e.State(), true}
	}
	return nil
}

func (s events) Get(_ context.Context, owner tenant.ID, id event.ID) (*event.Event, error) {
	if e, ok := s.u.events[id]; ok && e.Tenant == owner {
		return event.Restore(e.State), nil
	}
	return nil, absent("event_not_found")
}

func (s events) Waiting(_ context.Context, limit int) (found []*event.Event, err error) {
	var all []eventRow
	for _, e := range s.u.events {
		if e.waits {
			all = append(all, e)
		}
	}
	for _, e := range inTurns(all, func(e eventRow) (tenant.ID, time.Time, string) { return e.Tenant, e.At, string(e.ID) }) {
		if len(found) < limit {
			found = append(found, event.Restore(e.State))
		}
	}
	return found, nil
}

func (s events) Settle(_ context.Context, all ...*event.Event) error {
	for _, e := range all {
		row := s.u.events[e.ID()]
		row.waits = false
		s.u.events[e.ID()] = row
	}
	return nil
}

func (s events) Sweep(_ context.Context, before time.Time, limit int) (n int, err error) {
	for id, e := range s.u.events {
		under := false
		for _, d := range s.u.deliveries {
			under = under || d.Event == id && d.Status == event.Pending
		}
		if n == limit || e.waits || under || !e.At.Before(before) {
			continue
		}
		n++
		delete(s.u.events, id)
		maps.DeleteFunc(s.u.deliveries, func(_ event.DeliveryID, d event.DeliveryState) bool { return d.Event == id })
	}
	return n, nil
}

// inTurns orders records by their turn within their tenant, then by time and id.
func inTurns[R any](all []R, of func(R) (tenant.ID, time.Time, string)) []R {
	byTime := func(a, b R) int {
		_, at, id := of(a)
		_, other, otherID := of(b)
		return cmp.Or(at.Compare(other), strings.Compare(id, otherID))
	}
	slices.SortFunc(all, byTime)
	type turn struct {
		n int
		r R
	}
	var turns []turn
	count := map[tenant.ID]int{}
	for _, r := range all {
		owner, _, _ := of(r)
		count[owner]++
		turns = append(turns, turn{count[owner], r})
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.n, b.n), byTime(a.r, b.r)) })
	for i, t := range turns {
		all[i] = t.r
	}
	return all
}

type deliveries struct{ u unit }

func (s deliveries) Insert(_ context.Context, all ...*event.Delivery) error {
	for _, d := range all {
		if s.u.endpoints[d.Endpoint()].Tenant != d.Tenant() || s.u.events[d.Event()].Tenant != d.Tenant() {
			return errors.New("the endpoint or the event does not exist")
		}
		s.u.deliveries[d.ID()] = d.State()
	}
	return nil
}

func (s deliveries) Get(_ context.Context, owner tenant.ID, id event.DeliveryID) (*event.Delivery, error) {
	if d, ok := s.u.deliveries[id]; ok && d.Tenant == owner {
		return event.RestoreDelivery(d), nil
	}
	return nil, absent("delivery_not_found")
}

func (s deliveries) List(_ context.Context, owner tenant.ID, of event.EndpointID, f event.DeliveryFilter, q domain.Query) (domain.Page[*event.Delivery], error) {
	var fit []event.DeliveryState
	for _, d := range s.u.deliveries {
		if d.Tenant == owner && d.Endpoint == of && (f.Status == "" || f.Status == d.Status) && (f.Type == "" || f.Type == d.Type) &&
			(f.Event == "" || f.Event == d.Event) && (f.From == nil || !d.CreatedAt.Before(*f.From)) && (f.To == nil || d.CreatedAt.Before(*f.To)) {
			fit = append(fit, d)
		}
	}
	return page(fit, q, event.RestoreDelivery, func(d event.DeliveryState) time.Time {
		if q.By() == "updatedAt" {
			return d.UpdatedAt
		}
		return d.CreatedAt
	}, func(d event.DeliveryState) string { return string(d.ID) }), nil
}

func (s deliveries) Update(_ context.Context, d *event.Delivery) error {
	known, ok := s.u.deliveries[d.ID()]
	switch {
	case !ok || known.Tenant != d.Tenant():
		return absent("delivery_not_found")
	case known.Revision != d.Revision():
		return errStale
	}
	d.Saved()
	s.u.deliveries[d.ID()] = d.State()
	return nil
}

func (s deliveries) Claim(_ context.Context, c outbound.DeliveryClaim) (lent []outbound.DueDelivery, err error) {
	leased := func(d event.DeliveryState) bool { return d.LeasedUntil != nil && d.LeasedUntil.After(c.Now) }
	under := map[event.EndpointID]int{}
	byEndpoint := map[event.EndpointID][]event.DeliveryState{}
	for _, d := range s.u.deliveries {
		switch {
		case d.Status == event.Pending && leased(d):
			under[d.Endpoint]++
		case d.Status == event.Pending && !d.NextAttemptAt.After(c.Now):
			byEndpoint[d.Endpoint] = append(byEndpoint[d.Endpoint], d)
		}
	}
	order := func(d event.DeliveryState) (tenant.ID, time.Time, string) {
		return d.Tenant, *d.NextAttemptAt, string(d.ID)
	}
	var all []event.DeliveryState
	for to, mine := range byEndpoint {
		all = append(all, inTurns(mine, order)[:min(len(mine), max(c.PerEndpoint-under[to], 0))]...)
	}
	for _, d := range inTurns(all, order) {
		if len(lent) == c.Limit {
			break
		}
		d.LeasedUntil = &c.Until
		s.u.deliveries[d.ID] = d
		lent = append(lent, outbound.DueDelivery{
			Delivery: event.RestoreDelivery(d), Endpoint: event.RestoreEndpoint(s.u.endpoints[d.Endpoint]), Event: event.Restore(s.u.events[d.Event].State),
		})
	}
	return lent, nil
}

func (s deliveries) Next(context.Context) (at time.Time, ok bool, err error) {
	for _, d := range s.u.deliveries {
		if d.Status != event.Pending {
			continue
		}
		free := *d.NextAttemptAt
		if d.LeasedUntil != nil && d.LeasedUntil.After(free) {
			free = *d.LeasedUntil
		}
		if !ok || free.Before(at) {
			at, ok = free, true
		}
	}
	return at, ok, nil
}
