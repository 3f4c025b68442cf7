package portstest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ExecSQL returns what runs a statement past the store, on a connection of its own.
func ExecSQL(t *testing.T, driver, source string) func(statement string) error {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	return func(statement string) error {
		_, err := db.ExecContext(t.Context(), statement)
		return err
	}
}

// DamageableStore is a store whose rows a test can damage.
type DamageableStore struct {
	outbound.UnitOfWork

	// Exec runs a statement past the store.
	Exec func(statement string) error

	// BadTime is a time, as a literal of SQL, that the store cannot read and that is before
	// all others.
	BadTime string
}

// damaged is a fixture of a store with damaged rows.
type damaged struct {
	webhooks
	store DamageableStore
}

func (f damaged) exec(format string, args ...any) {
	f.Helper()
	if err := f.store.Exec(fmt.Sprintf(format, args...)); err != nil {
		f.Fatal(err)
	}
}

// damages are the ways in which a delivery, its endpoint and its event become unreadable.
func (f damaged) damages(d event.DeliveryState) map[string]string {
	row := func(id string) string { return fmt.Sprintf(" WHERE tenant_id = '%s' AND id = '%s'", d.Tenant, id) }
	of, to, about := row(string(d.ID)), row(string(d.Endpoint)), row(string(d.Event))
	return map[string]string{
		"the attempts":            `UPDATE webhook_deliveries SET attempts = '{'` + of,
		"the time of the attempt": `UPDATE webhook_deliveries SET next_attempt_at = ` + f.store.BadTime + of,
		"the end of the lease":    `UPDATE webhook_deliveries SET leased_until = ` + f.store.BadTime + of,
		"the time of the change":  `UPDATE webhook_deliveries SET updated_at = ` + f.store.BadTime + of,
		"the secret":              `UPDATE webhook_endpoints SET secret = 'whsec_'` + to,
		"the retired secrets":     `UPDATE webhook_endpoints SET retired_secrets = '['` + to,
		"the subscription":        `UPDATE webhook_endpoints SET events = '{}'` + to,
		"the endpoint's creation": `UPDATE webhook_endpoints SET created_at = ` + f.store.BadTime + to,
		"the time of the event":   `UPDATE webhook_events SET happened_at = ` + f.store.BadTime + about,
	}
}

// sqlTime is a time as a literal of SQL.
func sqlTime(at time.Time) string { return at.UTC().Format("'2006-01-02 15:04:05.999-07:00'") }

// leased says of each delivery of a claim whether it can be sent.
func (f damaged) leased(limit, perEndpoint int) map[event.DeliveryID]bool {
	f.Helper()
	got := make(map[event.DeliveryID]bool)
	for _, d := range f.claim(limit, perEndpoint) {
		got[d.Key.Delivery] = d.Unreadable == nil
		if sendable := d.Delivery != nil && d.Endpoint != nil && d.Event != nil; sendable == (d.Unreadable != nil) || sendable == !d.RetryAt.IsZero() {
			f.Errorf("leased: %+v", d)
		}
	}
	return got
}

// UnreadableWebhooks is the contract of the repositories of outgoing events for rows that
// cannot be read: none of them keeps others waiting, of whatever tenant.
func UnreadableWebhooks(t *testing.T, open func(t *testing.T) DamageableStore) {
	for claim, check := range map[string]func(f damaged){
		"a delivery that cannot be sent is postponed, and the others are leased": unreadableIsPostponed,
		"what is postponed counts for no bound, however much it is":              unreadableCountsForNoBound,
		"it is looked at less and less often, but each hour":                     unreadableWaitsGrow,
		"an urgent one keeps no other urgent one waiting":                        unreadableUrgent,
		"an endpoint that may want an event gets its delivery":                   unreadableMatching,
		"an event waits for its fan-out although its time cannot be read":        unreadableWaiting,
		"what is held comes with the reason, and the others are recorded":        unreadableHeld,
		"only who asks for the record itself gets an error":                      unreadableGet,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			check(damaged{newWebhooks(fixture{t, store}), store})
		})
	}
}

func unreadableIsPostponed(f damaged) {
	for name := range f.damages(event.DeliveryState{}) {
		owner, other := f.tenant().ID(), f.tenant().ID()
		bad := f.due(f.endpoint(owner), f.event(owner), 10)
		bad.CreatedAt = f.dbNow()
		elsewhere := f.due(f.endpoint(owner), f.event(owner), 10)
		foreign := f.due(f.endpoint(other), f.event(other), 10)
		f.insert(bad, elsewhere, foreign)
		f.exec("%s", f.damages(bad)[name])
		if wait, ok, err := f.wait(); err != nil || !ok || wait > 0 {
			f.Errorf("%s: the next is due in %s (%v): %v", name, wait, ok, err)
		}
		f.sameState(map[event.DeliveryID]bool{bad.ID: false, elsewhere.ID: true, foreign.ID: true}, f.leased(9, 9))
		f.sameState(map[event.DeliveryID]bool{}, f.leased(9, 9))
		f.settle(elsewhere)
		f.settle(foreign)
		if wait, ok, err := f.wait(); err != nil || !ok || wait < outbound.UnreadableWait/2 || wait > outbound.MaxRetryWait {
			f.Errorf("%s: it is looked at again in %s (%v): %v", name, wait, ok, err)
		}
		f.exec(`UPDATE webhook_deliveries SET next_attempt_at = %s WHERE id = '%s'`, sqlTime(f.past), bad.ID)
		repaired := name == "the time of the attempt" || name == "the end of the lease" // which being postponed overwrites
		f.sameState(map[event.DeliveryID]bool{bad.ID: repaired}, f.leased(9, 9))
		if f.Failed() {
			f.Fatal(name)
		}
		f.exec(`DELETE FROM webhook_deliveries WHERE id = '%s'`, bad.ID)
	}
}

func unreadableCountsForNoBound(f damaged) {
	owner := f.tenant().ID()
	to, e := f.endpoint(owner), f.event(owner)
	var bad []event.DeliveryState
	want := make(map[event.DeliveryID]bool)
	for range 4 {
		bad = append(bad, f.due(to, e, 0))
		want[bad[len(bad)-1].ID] = false
	}
	good := f.due(to, e, 1)
	f.insert(append(bad, good)...)
	f.exec(`UPDATE webhook_deliveries SET attempts = 'null and void' WHERE id <> '%s'`, good.ID)
	got := make(map[event.DeliveryID]bool)
	for range 2 {
		for id, readable := range f.leased(2, 2) {
			got[id] = readable
		}
	}
	f.sameState(want, got)
	f.claims("they take no place", 2, 2, good)
}

func unreadableWaitsGrow(f damaged) {
	owner := f.tenant().ID()
	d := f.due(f.endpoint(owner), f.event(owner), 0)
	f.insert(d)
	f.exec(`UPDATE webhook_endpoints SET secret = 'lost' WHERE id = '%s'`, d.Endpoint)
	dueSince := func(age time.Duration) {
		f.exec(`UPDATE webhook_deliveries SET created_at = %s, next_attempt_at = %s WHERE id = '%s'`, sqlTime(f.dbNow().Add(-age)), sqlTime(f.past), d.ID)
	}
	var waits []int
	for _, minutes := range []int{0, 1, 2, 45, 300} {
		dueSince(time.Duration(minutes) * time.Minute)
		due := f.claim(9, 9)
		if len(due) != 1 || due[0].Unreadable == nil || due[0].Key != keysOf(d)[0] || strings.Contains(due[0].Unreadable.Error(), "lost") {
			f.Fatalf("after %d minutes: %+v", minutes, due)
		}
		f.next("it is postponed", due[0].RetryAt)
		waits = append(waits, int(due[0].RetryAt.Sub(due[0].At)/time.Minute))
	}
	f.sameState([]int{1, 1, 2, 45, 60}, waits)
	dueSince(0)
	f.exec(`UPDATE webhook_endpoints SET secret = '%s' WHERE id = '%s'`, secretOf("new").Reveal(), d.Endpoint)
	f.claims("it can be read again", 9, 9, d)
}

func unreadableUrgent(f damaged) {
	owner := f.tenant().ID()
	to, e, broken := f.endpoint(owner), f.event(owner), f.endpoint(owner)
	backlog, first, second := f.due(to, e, 0), f.due(broken, e, 1), f.due(to, e, 2)
	first.Urgent, first.Manual, second.Urgent, second.Manual = true, true, true, true
	f.insert(backlog, first, second)
	f.exec(`UPDATE webhook_endpoints SET retired_secrets = '{"secret":' WHERE id = '%s'`, broken.ID())
	f.sameState(map[event.DeliveryID]bool{first.ID: false}, f.leased(1, 1))
	f.claims("the next urgent one", 1, 1, second)
	f.claims("the backlog", 9, 2, backlog)
}

func unreadableMatching(f damaged) {
	owner := f.tenant().ID()
	add := func(name, damage string, change func(*event.EndpointState)) *event.Endpoint {
		to := f.endpoint(owner, func(st *event.EndpointState) {
			st.URL += "/" + name
			change(st)
		})
		if damage != "" {
			f.exec(`UPDATE webhook_endpoints SET %s WHERE id = '%s'`, damage, to.ID())
		}
		return to
	}
	started := func(st *event.EndpointState) { st.Events = []event.Type{event.RunStarted} }
	good := add("good", "", func(*event.EndpointState) {})
	perhaps := add("perhaps", `events = 'all'`, started)
	secret := add("secret", `secret = ''`, started)
	late := add("late", `updated_at = `+f.store.BadTime, started)
	add("off", `events = 'all'`, func(st *event.EndpointState) { st.Active = false })
	team := add("team", `events = 'all'`, func(st *event.EndpointState) { st.SubTenant = "team" })
	for _, c := range []struct {
		t    event.Type
		sub  tenant.SubTenantID
		want []*event.Endpoint
	}{
		{event.RunFailed, "", []*event.Endpoint{good, perhaps}},
		{event.RunStarted, "", []*event.Endpoint{good, perhaps, secret, late}},
		{event.RunFailed, "team", []*event.Endpoint{good, perhaps, team}},
		{event.EndpointTest, "team", nil},
	} {
		f.put(func(ctx context.Context, st outbound.WebhookStores) error {
			found, err := st.Endpoints.Matching(ctx, tenant.All(owner), c.t, c.sub, false)
			var want, got []event.EndpointID
			for _, e := range c.want {
				want = append(want, e.ID())
			}
			for _, e := range found {
				got = append(got, e.ID())
				if e.Tenant() != owner {
					f.Errorf("%s is of %s", e.ID(), e.Tenant())
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				f.Errorf("%s of %q: %s", c.t, c.sub, diff)
			}
			return err
		})
	}
}

func unreadableWaiting(f damaged) {
	owner, other := f.tenant().ID(), f.tenant().ID()
	bad, good, foreign := newEvent(owner, 0), newEvent(owner, 1), newEvent(other, 2)
	f.append(bad, good, foreign)
	f.exec(`UPDATE webhook_events SET happened_at = %s WHERE id = '%s'`, f.store.BadTime, bad.ID())
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		found, err := st.Events.PendingFanOut(ctx, 9, "")
		f.sameState(idsOf([]*event.Event{bad, good, foreign}), idsOf(found))
		if f.Failed() {
			return err
		}
		if e := found[0]; e.Tenant() != owner || e.SubTenant() != bad.SubTenant() || e.Type() != bad.Type() {
			f.Errorf("what its fan-out goes by is lost: %+v", e.State())
		}
		return st.Events.MarkFannedOut(ctx, found[0])
	})
	f.waiting("it is settled", 9, good, foreign)
}

func unreadableHeld(f damaged) {
	owner := f.tenant().ID()
	to, e, broken := f.endpoint(owner), f.event(owner), f.endpoint(owner)
	bad, elsewhere, good := f.due(to, e, 0), f.due(broken, e, 0), f.due(to, e, 0)
	f.insert(bad, elsewhere, good)
	f.exec(`UPDATE webhook_deliveries SET attempts = '{"number":1}' WHERE id = '%s'`, bad.ID)
	f.exec(`UPDATE webhook_endpoints SET events = '"' WHERE id = '%s'`, broken.ID())
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		held, err := st.Queue.Lock(ctx, keysOf(bad, elsewhere, good))
		readable := make(map[outbound.DeliveryKey]bool)
		for _, h := range held {
			if readable[h.Key] = h.Unreadable == nil; readable[h.Key] != (h.Delivery != nil && h.Endpoint != nil) {
				f.Errorf("held: %+v", h)
			}
		}
		f.sameState(map[outbound.DeliveryKey]bool{keysOf(bad)[0]: false, keysOf(elsewhere)[0]: false, keysOf(good)[0]: true}, readable)
		if i := slices.IndexFunc(held, func(h outbound.LockedDelivery) bool { return h.Unreadable == nil }); i >= 0 {
			held[i].Delivery.Record(1, noon, event.AttemptResult{Status: 204})
			return st.Queue.Record(ctx, []*event.Delivery{held[i].Delivery}, nil)
		}
		return err
	})
	if d, err := f.getDelivery(owner, good.ID); err != nil || d.Status() != event.Delivered {
		f.Errorf("%+v: %v", d, err)
	}
}

func unreadableGet(f damaged) {
	owner := f.tenant().ID()
	to, e, calm := f.endpoint(owner), f.event(owner), f.endpoint(owner)
	bad, good, fine := f.due(to, e, 0), f.due(to, e, 0), f.due(calm, e, 0)
	f.insert(bad, good, fine)
	f.exec(`UPDATE webhook_deliveries SET attempts = '[' WHERE id = '%s'`, bad.ID)
	list := func(of event.EndpointID) (n int, err error) {
		err = f.view(func(ctx context.Context, st outbound.WebhookStores) error {
			page, err := st.Deliveries.List(ctx, tenant.All(owner), of, event.DeliveryFilter{}, domain.Query{})
			n = len(page.Items)
			return err
		})
		return n, err
	}
	for what, err := range map[string]error{"get": errorOf(f.getDelivery(owner, bad.ID)), "list": errorOf(list(to.ID()))} {
		if domain.KindOf(err) != domain.Internal || !strings.Contains(err.Error(), string(bad.ID)) {
			f.Errorf("%s: %v", what, err)
		}
	}
	if n, err := list(calm.ID()); err != nil || n != 1 {
		f.Errorf("%d of another endpoint: %v", n, err)
	}
	if _, err := f.getDelivery(owner, good.ID); err != nil {
		f.Error(err)
	}
}
