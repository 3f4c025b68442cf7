package portstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// WebhookStores runs the suites of the repositories of outgoing events.
func WebhookStores(t *testing.T, open OpenStore) {
	t.Run("Endpoints", func(t *testing.T) { EndpointRepository(t, open) })
	t.Run("Events", func(t *testing.T) { EventRepository(t, open) })
	t.Run("WaitingEvents", func(t *testing.T) { WaitingEvents(t, open) })
	t.Run("EventSweeps", func(t *testing.T) { EventSweeps(t, open) })
	t.Run("Deliveries", func(t *testing.T) { DeliveryRepository(t, open) })
	t.Run("Claims", func(t *testing.T) { DeliveryClaims(t, open) })
	t.Run("Clocks", func(t *testing.T) { DeliveryClocks(t, open) })
	t.Run("Bounds", func(t *testing.T) { DeliveryBounds(t, open) })
	t.Run("Records", func(t *testing.T) { DeliveryRecords(t, open) })
}

// webhooks is a fixture of outgoing events.
type webhooks struct {
	fixture
	past time.Time // an hour ago by the database's clock
}

func newWebhooks(f fixture) webhooks {
	f.Helper()
	return webhooks{f, f.dbNow().Add(-time.Hour)}
}

// webhookCases runs each claim against a store of its own.
func webhookCases(t *testing.T, open OpenStore, claims map[string]func(f webhooks)) {
	t.Helper()
	all := make(map[string]func(f fixture), len(claims))
	for claim, check := range claims {
		all[claim] = func(f fixture) { check(newWebhooks(f)) }
	}
	cases(t, open, all)
}

// put runs fn in a unit that must commit.
func (f webhooks) put(fn func(ctx context.Context, st outbound.WebhookStores) error) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return fn(ctx, st.Webhooks) })
}

// try runs fn in a unit and returns its error.
func (f webhooks) try(fn func(ctx context.Context, st outbound.WebhookStores) error) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return fn(ctx, st.Webhooks) })
}

// view runs fn in a view and returns its error.
func (f webhooks) view(fn func(ctx context.Context, st outbound.WebhookStores) error) error {
	return f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error { return fn(ctx, st.Webhooks) })
}

// secretOf makes a secret of 32 bytes that begins with the text.
func secretOf(text string) domain.SigningSecret {
	var entropy [domain.SecretEntropy]byte
	copy(entropy[:], text)
	return domain.NewSigningSecret(entropy)
}

// endpointState is an endpoint with every member filled in.
func endpointState(owner tenant.ID) event.EndpointState {
	about, since := "Störungen & <more>", noon.Add(time.Minute)
	return event.EndpointState{
		ID: event.EndpointID(newID("whk")), Tenant: owner, SubTenant: "team", Children: true, Connection: "conn_endpoint", URL: "https://example.com/höok?a=1&b=%20", Description: &about,
		Events: []event.Type{event.RunFailed, event.RunCompleted}, Active: true, Secret: secretOf("current"),
		Retired:      []domain.RetiredSecret{{Secret: secretOf("newer"), Until: noon.Add(2 * time.Hour)}, {Secret: secretOf("older"), Until: noon.Add(time.Hour)}},
		FailingSince: &since, Disabled: &event.Disabled{At: noon.Add(time.Hour), Reason: event.DisabledFailing},
		CreatedAt: noon, UpdatedAt: noon.Add(time.Second), Revision: 1,
	}
}

// endpoint stores a new endpoint that wants every event.
func (f webhooks) endpoint(owner tenant.ID, change ...func(*event.EndpointState)) *event.Endpoint {
	f.Helper()
	st := event.EndpointState{
		ID: event.EndpointID(newID("whk")), Tenant: owner, URL: "https://example.com/hooks", Active: true,
		Secret: secretOf("secret"), CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
	for _, c := range change {
		c(&st)
	}
	e := event.RestoreEndpoint(st)
	f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Endpoints.Insert(ctx, e) })
	return e
}

func (f webhooks) getEndpoint(owner tenant.ID, id event.EndpointID) (e *event.Endpoint, err error) {
	err = f.view(func(ctx context.Context, st outbound.WebhookStores) error {
		e, err = st.Endpoints.Get(ctx, tenant.All(owner), id)
		return err
	})
	return e, err
}

// sameState compares states; a list that is empty equals one that is not there.
func (f webhooks) sameState(want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Error(diff)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// EndpointRepository is the contract of outbound.EndpointRepository.
func EndpointRepository(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"every field comes back, and so do those that are absent": func(f webhooks) {
			full := event.RestoreEndpoint(endpointState(f.tenant().ID()))
			f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Endpoints.Insert(ctx, full) })
			for _, want := range []*event.Endpoint{full, f.endpoint(full.Tenant())} {
				got, err := f.getEndpoint(want.Tenant(), want.ID())
				if err != nil {
					f.Fatal(err)
				}
				f.sameState(want.State(), got.State())
			}
		},
		"an update writes every field, and a stale one is refused": func(f webhooks) {
			e := f.endpoint(f.tenant().ID())
			stale := event.RestoreEndpoint(e.State())
			want := endpointState(e.Tenant())
			want.ID, want.Active, want.CreatedAt = e.ID(), false, e.CreatedAt()
			changed := event.RestoreEndpoint(want)
			update := func(e *event.Endpoint) error {
				return f.try(func(ctx context.Context, st outbound.WebhookStores) error { return st.Endpoints.Update(ctx, e) })
			}
			if err := update(changed); err != nil || changed.Revision() != 2 {
				f.Fatalf("revision %d: %v", changed.Revision(), err)
			}
			f.wantError(update(stale), domain.Conflict, "stale_revision")
			got, err := f.getEndpoint(e.Tenant(), e.ID())
			if err != nil {
				f.Fatal(err)
			}
			want.Revision = 2
			f.sameState(want, got.State())
		},
		"a deleted endpoint is gone with its deliveries, and deleting it again says so": func(f webhooks) {
			owner := f.tenant().ID()
			e, kept := f.endpoint(owner), f.endpoint(owner)
			happened := f.event(owner)
			d, other := f.delivery(e, happened), f.delivery(kept, happened)
			remove := func() error {
				return f.try(func(ctx context.Context, st outbound.WebhookStores) error {
					return st.Endpoints.Delete(ctx, tenant.All(owner), e.ID())
				})
			}
			if err := remove(); err != nil {
				f.Fatal(err)
			}
			f.wantError(errorOf(f.getEndpoint(owner, e.ID())), domain.NotFound, "webhook_endpoint_not_found")
			f.wantError(errorOf(f.getDelivery(owner, d.ID())), domain.NotFound, "delivery_not_found")
			f.wantError(remove(), domain.NotFound, "webhook_endpoint_not_found")
			if _, err := f.getDelivery(owner, other.ID()); err != nil {
				f.Error(err)
			}
		},
		"an endpoint of another tenant is as if it did not exist": func(f webhooks) {
			e, other := f.endpoint(f.tenant().ID()), f.tenant().ID()
			_, err := f.getEndpoint(other, e.ID())
			f.wantError(err, domain.NotFound, "webhook_endpoint_not_found")
			if errAbsent := errorOf(f.getEndpoint(other, "whk_absent")); err.Error() != errAbsent.Error() {
				f.Errorf("%q differs from %q", err, errAbsent)
			}
			stolen := e.State()
			stolen.Tenant = other
			for _, do := range []func(context.Context, outbound.WebhookStores) error{
				func(ctx context.Context, st outbound.WebhookStores) error {
					return st.Endpoints.Update(ctx, event.RestoreEndpoint(stolen))
				},
				func(ctx context.Context, st outbound.WebhookStores) error {
					return st.Endpoints.Delete(ctx, tenant.All(other), e.ID())
				},
			} {
				f.wantError(f.try(do), domain.NotFound, "webhook_endpoint_not_found")
			}
			if got := f.endpoints(other, event.EndpointFilter{}, "", 10, 0) + f.matching(other, event.RunFailed, "", false); got != " of 0" {
				f.Errorf("the other tenant sees %s", got)
			}
		},
		"endpoints, events and deliveries go with their tenant": func(f webhooks) {
			owner := f.tenant().ID()
			e, happened := f.endpoint(owner), f.event(owner)
			d := f.delivery(e, happened)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
			f.wantError(errorOf(f.getEndpoint(owner, e.ID())), domain.NotFound, "webhook_endpoint_not_found")
			f.wantError(errorOf(f.getEvent(owner, happened.ID())), domain.NotFound, "event_not_found")
			f.wantError(errorOf(f.getDelivery(owner, d.ID())), domain.NotFound, "delivery_not_found")
		},
		"a unit that fails adds nothing": func(f webhooks) {
			owner := f.tenant().ID()
			e := event.RestoreEndpoint(endpointState(owner))
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				return errors.Join(st.Endpoints.Insert(ctx, e), errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.wantError(errorOf(f.getEndpoint(owner, e.ID())), domain.NotFound, "webhook_endpoint_not_found")
		},
		"a list comes in the order asked for, a page at a time, narrowed by its filters": endpointLists,
		"those that want an event are found, by id":                                      endpointsMatching,
	})
}

// endpoints lists the ends of the URLs of a page, and the total.
func (f webhooks) endpoints(owner tenant.ID, filter event.EndpointFilter, order string, limit, offset int) (line string) {
	f.Helper()
	err := f.view(func(ctx context.Context, st outbound.WebhookStores) error {
		found, err := st.Endpoints.List(ctx, tenant.All(owner), filter, f.query(order, limit, offset))
		line = fmt.Sprintf("%s of %d", lastParts(found.Items), found.Total)
		return err
	})
	if err != nil {
		f.Error(err)
	}
	return line
}

// lastParts joins what follows the last slash of each URL.
func lastParts(all []*event.Endpoint) string {
	var parts []string
	for _, e := range all {
		parts = append(parts, e.URL()[strings.LastIndex(e.URL(), "/")+1:])
	}
	return strings.Join(parts, " ")
}

func endpointLists(f webhooks) {
	owner := f.tenant().ID()
	about, yes, no, team, nobody := "Alarm 100% of ÜBUNG", true, false, tenant.SubTenantID("team"), tenant.SubTenantID("nobody")
	f.endpoint(f.tenant().ID())
	for i, name := range []string{"a", "b", "c"} {
		f.endpoint(owner, func(st *event.EndpointState) {
			st.URL = "https://example.com/x_" + strings.ToUpper(name) + "/" + name
			st.UpdatedAt = noon.Add(-time.Duration(i) * time.Second)
			if name == "b" {
				st.SubTenant, st.Description, st.Active = team, &about, false
			}
		})
	}
	for claim, c := range map[string]struct {
		filter        event.EndpointFilter
		order         string
		limit, offset int
		want          string
	}{
		"the newest first, ties by id":    {event.EndpointFilter{}, "", 10, 0, "c b a of 3"},
		"by creation, ties by id":         {event.EndpointFilter{}, "createdAt", 10, 0, "a b c of 3"},
		"the latest change first":         {event.EndpointFilter{}, "-updatedAt", 10, 0, "a b c of 3"},
		"the first page":                  {event.EndpointFilter{}, "createdAt", 2, 0, "a b of 3"},
		"the last page":                   {event.EndpointFilter{}, "createdAt", 2, 2, "c of 3"},
		"past the end":                    {event.EndpointFilter{}, "createdAt", 2, 4, " of 3"},
		"the active ones":                 {event.EndpointFilter{Active: &yes}, "createdAt", 10, 0, "a c of 2"},
		"the inactive ones":               {event.EndpointFilter{Active: &no}, "createdAt", 10, 0, "b of 1"},
		"of a segment":                    {event.EndpointFilter{SubTenant: &team}, "createdAt", 10, 0, "b of 1"},
		"of an unknown segment":           {event.EndpointFilter{SubTenant: &nobody}, "createdAt", 10, 0, " of 0"},
		"by the URL, whatever its case":   {event.EndpointFilter{Search: "X_a"}, "createdAt", 10, 0, "a of 1"},
		"by the description":              {event.EndpointFilter{Search: "100% OF ü"}, "createdAt", 10, 0, "b of 1"},
		"a percent sign is no wildcard":   {event.EndpointFilter{Search: "a%"}, "createdAt", 10, 0, " of 0"},
		"by everything at the same time":  {event.EndpointFilter{SubTenant: &team, Active: &no, Search: "alarm"}, "", 10, 0, "b of 1"},
		"what one filter does not permit": {event.EndpointFilter{SubTenant: &team, Active: &yes}, "", 10, 0, " of 0"},
	} {
		if got := f.endpoints(owner, c.filter, c.order, c.limit, c.offset); got != c.want {
			f.Errorf("%s: %q, not %q", claim, got, c.want)
		}
	}
}

// matching lists the ends of the URLs of those that want an event.
func (f webhooks) matching(owner tenant.ID, t event.Type, sub tenant.SubTenantID, ofChild bool) (line string) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		found, err := st.Endpoints.Matching(ctx, tenant.All(owner), t, sub, ofChild)
		line = lastParts(found)
		for _, e := range found {
			if !e.Wants(t, sub, ofChild) {
				f.Errorf("%s does not want %s of %q", e.URL(), t, sub)
			}
		}
		return err
	})
	return line
}

func endpointsMatching(f webhooks) {
	owner := f.tenant().ID()
	add := func(owner tenant.ID, name string, change func(*event.EndpointState)) {
		f.endpoint(owner, func(st *event.EndpointState) {
			st.URL += "/" + name
			change(st)
		})
	}
	add(f.tenant().ID(), "foreign", func(*event.EndpointState) {})
	add(owner, "all", func(*event.EndpointState) {})
	add(owner, "failed", func(st *event.EndpointState) { st.Events = []event.Type{event.RunFailed} })
	add(owner, "both", func(st *event.EndpointState) { st.Events = []event.Type{event.RunStarted, event.RunFailed} })
	add(owner, "team", func(st *event.EndpointState) { st.SubTenant = "team" })
	add(owner, "off", func(st *event.EndpointState) { st.Active = false })
	add(owner, "children", func(st *event.EndpointState) { st.Children, st.Events = true, []event.Type{event.RunCompleted} })
	for _, c := range []struct {
		t       event.Type
		sub     tenant.SubTenantID
		ofChild bool
		want    string
	}{
		{event.RunFailed, "", false, "all failed both"}, {event.RunFailed, "team", false, "all failed both team"}, {event.RunStarted, "tea", false, "all both"},
		{event.RunPaused, "team", false, "all team"}, {event.EndpointTest, "team", false, ""}, {event.RunFailed, "team", true, ""},
		{event.RunCompleted, "", true, "children"}, {event.RunCompleted, "", false, "all children"},
	} {
		if got := f.matching(owner, c.t, c.sub, c.ofChild); got != c.want {
			f.Errorf("%s of %q: %q, not %q", c.t, c.sub, got, c.want)
		}
	}
}
