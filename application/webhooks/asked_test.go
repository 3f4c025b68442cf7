package webhooks_test

import (
	"context"
	"testing"
	"testing/synctest"
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hanging()
		to := w.endpoint("hangs")
		for range 30 {
			w.happen(event.RunFailed)
		}
		w.clock.Set(time.Now())
		end := w.run()
		time.Sleep(event.SendTimeout + time.Second) // now it is known to fail, and one message hangs
		late := w.every(to)[0]
		w.clock.Set(time.Now())
		test, err := w.endpoints.Test(w.Context(), w.who, domain.Once{}, to.ID())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.clock.Set(time.Now())
		if _, err := w.deliveries.Redeliver(w.Context(), w.who, domain.Once{}, late.ID()); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		time.Sleep(3 * event.SendTimeout)
		end()
		var got []string
		for _, m := range w.receivers.got {
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
	t.Parallel()
	w := newWorld(t)
	w.endpoint("a")
	w.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.Outcome, error) {
		return event.Outcome{Status: 500}, w.store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			return st.Tenants.Delete(ctx, w.who.Tenant)
		})
	}
	w.happen(event.RunFailed)
	w.settle()
	if len(w.receivers.got) != 1 || !w.next().IsZero() {
		t.Errorf("%d were sent, and the next is due at %s", len(w.receivers.got), w.next())
	}
}

// While a message is on its way, its tenant is suspended: what became of it is recorded,
// and nothing is sent until the tenant is resumed.
func TestAnAttemptIsRecordedAlthoughItsTenantWasSuspendedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	become := func(ctx context.Context, verb func(*tenant.Tenant, time.Time)) error {
		return w.store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			ten, err := st.Tenants.Get(ctx, w.who.Tenant)
			if err != nil {
				return err
			}
			verb(ten, noon)
			return st.Tenants.Update(ctx, ten)
		})
	}
	w.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.Outcome, error) {
		return event.Outcome{Status: 503}, become(ctx, (*tenant.Tenant).Suspend)
	}
	w.happen(event.RunFailed)
	w.settle()
	w.clock.Set(noon.Add(time.Hour))
	w.settle()
	if d := w.all(to)[0]; len(w.receivers.got) != 1 || d.Attempted() != 1 || d.Status() != event.Pending || !w.next().IsZero() {
		t.Errorf("suspended, %d were sent: %+v", len(w.receivers.got), d.State())
	}
	w.receivers.status(200)
	if err := become(t.Context(), (*tenant.Tenant).Resume); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if d := w.all(to)[0]; d.Attempted() != 2 || d.Status() != event.Delivered {
		t.Errorf("resumed: %+v", d.State())
	}
}

// What became due while the endpoint was off has failed for good, but for somebody who
// asks for it; what becomes due after it was switched on again is tried on.
func TestAnEndpointThatIsSwitchedOnAgainGetsWhatBecomesDueThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	w.receivers.status(503)
	w.happen(event.RunFailed)
	w.settle() // its next attempt is in 5 seconds
	w.clock.Set(noon.Add(6 * time.Second))
	w.settle() // and then in 5 minutes
	w.clock.Set(noon.Add(time.Minute))
	w.happen(event.RunFailed)
	w.settle()
	turn := func(on bool) {
		t.Helper()
		if _, err := w.endpoints.Update(t.Context(), w.who, to.ID(), domain.Expected{}, event.EndpointPatch{Active: &on}); err != nil {
			t.Fatal(err)
		}
	}
	turn(false)
	w.happen(event.RunFailed) // of which it is not told, then or later
	w.clock.Set(noon.Add(2 * time.Minute))
	w.settle()
	turn(true)
	w.receivers.status(200)
	w.clock.Set(noon.Add(time.Hour))
	w.settle()
	var got []event.Status
	for _, d := range w.all(to) {
		got = append(got, d.Status())
	}
	if diff := cmp.Diff([]event.Status{event.Delivered, event.Failed}, got); diff != "" {
		t.Fatal(diff)
	}
	if _, err := w.deliveries.Redeliver(t.Context(), w.who, domain.Once{}, w.all(to)[1].ID()); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if d := w.all(to)[1]; d.Status() != event.Delivered {
		t.Errorf("asked for: %+v", d.State())
	}
}

// Every attempt sends the same bytes under the same identifier, also after the endpoint
// got another URL and another secret.
func TestEveryAttemptSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	w.receivers.status(500)
	e := w.happen(event.RunFailed)
	w.settle()
	url := "https://example.com/moved"
	if _, err := w.endpoints.Update(t.Context(), w.who, to.ID(), domain.Expected{}, event.EndpointPatch{URL: &url}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.endpoints.RotateSecret(t.Context(), w.who, domain.Once{}, to.ID()); err != nil {
		t.Fatal(err)
	}
	w.clock.Set(noon.Add(time.Minute))
	w.settle()
	w.clock.Set(noon.AddDate(0, 0, 2))
	w.settle()
	for i, m := range w.receivers.got {
		if string(m.Body) != string(e.Body()) || m.Signature.ID != w.receivers.got[0].Signature.ID || (m.URL == url) != (i > 0) {
			t.Errorf("attempt %d sent %s as %s to %s", i+1, m.Body, m.Signature.ID, m.URL)
		}
	}
	if len(w.receivers.got) != 3 {
		t.Errorf("%d attempts", len(w.receivers.got))
	}
}
