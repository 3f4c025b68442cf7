package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Who delivers is called after the commit of what there is to deliver, and of nothing
// else.
func TestWhoDeliversIsCalledWhenThereIsSomethingToDeliver(t *testing.T) {
	store := open(t)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	to, err := event.NewEndpoint("whk_1", ten.ID(), event.EndpointDraft{URL: "https://example.com/"}, domain.NewSigningSecret([domain.SecretEntropy]byte{1}), noon)
	if err != nil {
		t.Fatal(err)
	}
	happen := func(id event.ID) *event.Event {
		e := event.Restore(event.State{ID: id, Tenant: ten.ID(), Type: event.RunFailed, At: noon})
		return e
	}
	first := happen("evt_1")
	d := event.NewDelivery("msg_1", to, first, noon)
	onPurpose := errors.New("on purpose")
	calls := 0
	store.OnEvents(func() {
		calls++
		// The unit has committed: another one finds what it wrote, and does not wait for it.
		if err := store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Webhooks.Events.Get(ctx, tenant.All(ten.ID()), first.ID())
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []struct {
		what  string
		do    func(context.Context, outbound.Stores) error
		err   error
		calls int
	}{
		{"a tenant", func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) }, nil, 0},
		{"an endpoint", func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Endpoints.Insert(ctx, to) }, nil, 0},
		{"an event that did not happen", func(ctx context.Context, st outbound.Stores) error {
			return errors.Join(st.Webhooks.Events.Append(ctx, happen("evt_2")), onPurpose)
		}, onPurpose, 0},
		{"no event", func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Events.Append(ctx) }, nil, 0},
		{"two events", func(ctx context.Context, st outbound.Stores) error {
			return st.Webhooks.Events.Append(ctx, first, happen("evt_3"))
		}, nil, 1},
		{"a failed attempt", func(ctx context.Context, st outbound.Stores) error {
			d.Record(1, noon, event.AttemptResult{Status: 500})
			return st.Webhooks.Deliveries.Insert(ctx, d)
		}, nil, 1},
		{"a later attempt", func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Deliveries.Update(ctx, d) }, nil, 1},
		{"an attempt at once", func(ctx context.Context, st outbound.Stores) error {
			d.Redeliver(true, noon.Add(time.Second))
			return st.Webhooks.Deliveries.Update(ctx, d)
		}, nil, 2},
	} {
		if err := store.Do(t.Context(), step.do); !errors.Is(err, step.err) || calls != step.calls {
			t.Errorf("after %s: %d calls, not %d: %v", step.what, calls, step.calls, err)
		}
	}
}
