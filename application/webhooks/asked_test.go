package webhooks_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// An endpoint hangs, and has a backlog of which one message at a time is tried, for 15
// seconds. What somebody asks for is next, and no more of it at a time.
func TestWhatSomebodyAskedForGoesBeforeTheBacklogOfItsEndpoint(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.hanging()
		to := h.endpoint("hangs")
		for range 30 {
			h.happen(event.RunFailed)
		}
		end := h.run()
		time.Sleep(event.SendTimeout + time.Second) // now it is known to fail, and one message hangs
		late := h.every(to)[0]
		test, err := h.endpoints.Test(h.Context(), h.who, domain.IdempotencyKey{}, to.ID())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := h.deliveries.Redeliver(h.Context(), h.who, domain.IdempotencyKey{}, late.ID()); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		time.Sleep(3 * event.SendTimeout)
		end()
		var got []string
		for _, m := range h.receivers.got {
			if m.at.After(asked) {
				got = append(got, m.Signature.ID)
			}
		}
		if len(got) != 3 {
			t.Fatalf("%d were sent at a time", len(got)-2)
		}
		// Among themselves the most overdue is first, which the one of the backlog is.
		if diff := cmp.Diff([]string{string(late.ID()), string(test.ID())}, got[:2]); diff != "" {
			t.Error(diff)
		}
	})
}

// While a message is on its way, its tenant is deleted.
func TestWhatIsSentWhenItsTenantIsDeletedNeedsNoRecord(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.endpoint("a")
		h.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.AttemptResult, error) {
			return event.AttemptResult{Status: 500}, h.store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				return st.Tenants.Delete(ctx, h.who.Tenant())
			})
		}
		h.happen(event.RunFailed)
		h.settle()
		if len(h.receivers.got) != 1 || !h.next().IsZero() {
			t.Errorf("%d were sent, and the next is due at %s", len(h.receivers.got), h.next())
		}
	})
}

// While a message is on its way, its tenant is suspended: what became of it is recorded,
// and nothing is sent until the tenant is resumed.
func TestAnAttemptIsRecordedAlthoughItsTenantWasSuspendedMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		become := func(ctx context.Context, verb func(*tenant.Tenant, time.Time)) error {
			return h.store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				ten, err := st.Tenants.Get(ctx, h.who.Tenant())
				if err != nil {
					return err
				}
				verb(ten, start)
				return st.Tenants.Update(ctx, ten)
			})
		}
		h.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.AttemptResult, error) {
			return event.AttemptResult{Status: 503}, become(ctx, (*tenant.Tenant).Suspend)
		}
		h.happen(event.RunFailed)
		h.settle()
		h.sleepUntil(start.Add(time.Hour))
		h.settle()
		if d := h.all(to)[0]; len(h.receivers.got) != 1 || d.Attempted() != 1 || d.Status() != event.Pending || !h.next().IsZero() {
			t.Errorf("suspended, %d were sent: %+v", len(h.receivers.got), d.State())
		}
		h.receivers.status(200)
		if err := become(t.Context(), (*tenant.Tenant).Resume); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if d := h.all(to)[0]; d.Attempted() != 2 || d.Status() != event.Delivered {
			t.Errorf("resumed: %+v", d.State())
		}
	})
}

// What became due while the endpoint was off has failed for good, unless somebody asks
// for it; what becomes due after it was switched on again is tried on.
func TestAnEndpointThatIsSwitchedOnAgainGetsWhatBecomesDueThen(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		h.receivers.status(503)
		h.happen(event.RunFailed)
		h.settle() // its next attempt is in 5 seconds
		h.sleepUntil(start.Add(6 * time.Second))
		h.settle() // and then in 5 minutes
		h.sleepUntil(start.Add(time.Minute))
		h.happen(event.RunFailed)
		h.settle()
		h.setActive(to, false)
		h.happen(event.RunFailed) // which it does not get, then or later
		h.sleepUntil(start.Add(2 * time.Minute))
		h.settle()
		h.setActive(to, true)
		h.receivers.status(200)
		h.sleepUntil(start.Add(time.Hour))
		h.settle()
		var got []event.Status
		for _, d := range h.all(to) {
			got = append(got, d.Status())
		}
		if diff := cmp.Diff([]event.Status{event.Delivered, event.Failed}, got); diff != "" {
			t.Fatal(diff)
		}
		if _, err := h.deliveries.Redeliver(t.Context(), h.who, domain.IdempotencyKey{}, h.all(to)[1].ID()); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if d := h.all(to)[1]; d.Status() != event.Delivered {
			t.Errorf("asked for: %+v", d.State())
		}
	})
}

// Every attempt sends the same bytes under the same identifier, also after the endpoint
// got another URL and another secret.
func TestEveryAttemptSendsTheSameBytes(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		h.receivers.status(500)
		e := h.happen(event.RunFailed)
		h.settle()
		url := "https://example.com/moved"
		if _, err := h.endpoints.Update(t.Context(), h.who, to.ID(), domain.Expected{}, event.EndpointPatch{URL: &url}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.endpoints.RotateSecret(t.Context(), h.who, domain.IdempotencyKey{}, to.ID()); err != nil {
			t.Fatal(err)
		}
		h.sleepUntil(start.Add(time.Minute))
		h.settle()
		h.sleepUntil(start.AddDate(0, 0, 2))
		h.settle()
		for i, m := range h.receivers.got {
			if string(m.Body) != string(e.Body()) || m.Signature.ID != h.receivers.got[0].Signature.ID || (m.URL == url) != (i > 0) {
				t.Errorf("attempt %d sent %s as %s to %s", i+1, m.Body, m.Signature.ID, m.URL)
			}
		}
		if len(h.receivers.got) != 3 {
			t.Errorf("%d attempts", len(h.receivers.got))
		}
	})
}
