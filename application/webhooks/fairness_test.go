package webhooks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// hanging makes receivers whose URL holds "hangs" answer nothing within the time they
// have.
func (w *world) hanging() {
	w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
		if strings.Contains(m.URL, "hangs") {
			time.Sleep(event.SendTimeout)
			return event.Outcome{Code: "timeout", Duration: event.SendTimeout}, nil
		}
		return event.Outcome{Status: 200}, nil
	}
}

// floods makes a tenant with endpoints that hang, and some events for each of them.
func (w *world) floods(who tenant.Caller, endpoints, events int) {
	w.Helper()
	for i := range endpoints {
		_, err := w.endpoints.Create(w.Context(), who, domain.Once{}, event.EndpointDraft{
			URL: fmt.Sprintf("https://example.com/hangs/%s/%d", who.Tenant, i), Events: []event.Type{event.RunFailed},
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	for range events {
		w.happenTo(who, event.RunFailed)
	}
}

// arrives makes something happen to a tenant and checks that its endpoint is told soon.
func (w *world) arrives(step string, who tenant.Caller, to *event.Endpoint, within time.Duration) {
	w.Helper()
	before := len(w.times()[to.URL()])
	happened := time.Now()
	w.happenTo(who, event.RunCompleted)
	time.Sleep(within)
	at := w.times()[to.URL()]
	if len(at) != before+1 {
		w.Errorf("%s: it was not told within %s", step, within)
		return
	}
	w.Logf("%s: told after %s", step, at[before].Sub(happened))
}

func TestEndpointsThatHangDelayNoOtherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hanging()
		w.floods(w.who, event.MaxEndpoints-1, 20)
		own := w.endpointOf(w.who, "own", event.RunCompleted)
		other := w.endpointOf(w.other, "other", event.RunCompleted)
		end := w.run()
		time.Sleep(3 * time.Second)
		w.arrives("while nothing is known of them", w.other, other, time.Second)
		time.Sleep(20 * time.Second)
		w.arrives("once they are known to fail", w.other, other, time.Second)
		w.arrives("to another endpoint of the same tenant", w.who, own, time.Second)
		time.Sleep(time.Minute)
		w.arrives("a minute later", w.other, other, time.Second)
		w.arrives("a minute later, of the same tenant", w.who, own, time.Second)
		end()
		most := 0
		for url, at := range w.times() {
			for i := range at {
				together := 0
				for _, other := range at[i:] {
					if other.Sub(at[i]) < event.SendTimeout {
						together++
					}
				}
				if most = max(most, together); strings.Contains(url, "hangs") && at[i].Sub(at[0]) > 2*event.SendTimeout && together > 1 {
					t.Fatalf("%s got %d messages at a time although it hangs", url, together)
				}
			}
		}
		if most < 2 || most > 8 {
			t.Errorf("one got %d messages at a time", most)
		}
	})
}

func TestTheEndpointsOfManyTenantsThatHangDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hanging()
		const tenants = 80
		for range tenants {
			w.floods(w.tenant(), 3, 3)
		}
		to := w.endpointOf(w.other, "other", event.RunCompleted)
		end := w.run()
		time.Sleep(3 * time.Second)
		w.arrives("while nothing is known of them", w.other, to, time.Second)
		for range 4 {
			time.Sleep(14 * time.Second)
			w.arrives("once they are known to fail", w.other, to, time.Second)
		}
		end()
	})
}

func TestDeliveriesOfASuspendedTenantWaitAndGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		to := w.endpointOf(w.who, "a", event.RunCompleted)
		become := func(verb func(*tenant.Tenant, time.Time)) {
			w.do(func(ctx context.Context, st outbound.Stores) error {
				ten, err := st.Tenants.Get(ctx, w.who.Tenant)
				if err != nil {
					return err
				}
				verb(ten, noon)
				return st.Tenants.Update(ctx, ten)
			})
		}
		end := w.run()
		w.arrives("active", w.who, to, time.Second)
		become((*tenant.Tenant).Suspend)
		w.happenTo(w.who, event.RunCompleted)
		time.Sleep(time.Hour)
		if d := w.all(to)[1]; len(w.times()[to.URL()]) != 1 || d.Status() != event.Pending || d.Attempted() != 0 {
			t.Errorf("suspended: %+v", d.State())
		}
		become((*tenant.Tenant).Resume)
		time.Sleep(time.Second + 5*time.Millisecond)
		end()
		if d := w.all(to)[1]; len(w.times()[to.URL()]) != 2 || d.Status() != event.Delivered || d.Attempted() != 1 {
			t.Errorf("resumed: %+v", d.State())
		}
	})
}
