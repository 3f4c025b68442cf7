package webhooks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// hanging makes receivers whose URL holds "hangs" answer nothing within the time they
// have.
func (h *harness) hanging() {
	h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
		if strings.Contains(m.URL, "hangs") {
			time.Sleep(event.SendTimeout)
			return event.AttemptResult{Code: "timeout", Duration: event.SendTimeout}, nil
		}
		return event.AttemptResult{Status: 200}, nil
	}
}

// floods makes a tenant with endpoints that hang, and some events for each of them.
func (h *harness) floods(who tenant.Caller, endpoints, events int) {
	h.Helper()
	for i := range endpoints {
		_, err := h.endpoints.Create(h.Context(), who, domain.IdempotencyKey{}, event.EndpointDraft{
			URL: fmt.Sprintf("https://example.com/hangs/%s/%d", who.Tenant(), i), Events: []event.Type{event.RunFailed},
		})
		if err != nil {
			h.Fatal(err)
		}
	}
	for range events {
		h.happenTo(who, event.RunFailed)
	}
}

// arrives makes something happen to a tenant and checks that its endpoint gets it soon.
func (h *harness) arrives(step string, who tenant.Caller, to *event.Endpoint, within time.Duration) {
	h.Helper()
	before := len(h.times()[to.URL()])
	happened := time.Now()
	h.happenTo(who, event.RunCompleted)
	time.Sleep(within)
	at := h.times()[to.URL()]
	if len(at) != before+1 {
		h.Errorf("%s: it did not arrive within %s", step, within)
		return
	}
	h.Logf("%s: arrived after %s", step, at[before].Sub(happened))
}

// concurrent is how many of the messages that went out at the times, to endpoints that
// hang, were on their way at the same time.
func concurrent(at []time.Time) (most int) {
	for _, one := range at {
		n := 0
		for _, other := range at {
			if waited := other.Sub(one); waited >= 0 && waited < event.SendTimeout {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// since are the times from one on.
func since(at []time.Time, from time.Time) (later []time.Time) {
	for _, one := range at {
		if !one.Before(from) {
			later = append(later, one)
		}
	}
	return later
}

// An eighth of what a process sends at the same time in production, against endpoints
// that hang and would take more than that. A tenant gets a quarter of it.
const fewSends, fewPerEndpoint, fewEndpoints = 64, 2, 12

func TestEndpointsThatHangDelayNoOtherTenant(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.maxSends, h.perEndpoint = fewSends, fewPerEndpoint
		h.hanging()
		h.floods(h.who, fewEndpoints, 2*fewPerEndpoint)
		own := h.endpointOf(h.who, "own", event.RunCompleted)
		other := h.endpointOf(h.other, "other", event.RunCompleted)
		end := h.run()
		time.Sleep(2 * time.Second)
		h.arrives("while nothing is known of them", h.other, other, time.Second)
		time.Sleep(event.SendTimeout)
		h.arrives("once they are known to fail", h.other, other, time.Second)
		h.arrives("to another endpoint of the same tenant", h.who, own, time.Second)
		time.Sleep(event.SendTimeout)
		h.arrives("later", h.other, other, time.Second)
		h.arrives("later, of the same tenant", h.who, own, time.Second)
		end()
		most, inAll := 0, []time.Time(nil)
		for url, at := range h.times() {
			most = max(most, concurrent(at))
			if !strings.Contains(url, "hangs") {
				continue
			}
			inAll = append(inAll, at...)
			if known := since(at, at[0].Add(event.SendTimeout+time.Millisecond)); concurrent(known) > 1 {
				t.Errorf("%s got %d messages at a time although it hangs", url, concurrent(known))
			}
		}
		if n := concurrent(inAll); n != fewSends/4 {
			t.Errorf("one tenant got %d messages at a time", n)
		}
		if most != fewPerEndpoint {
			t.Errorf("one got %d messages at a time", most)
		}
	})
}

func TestTheEndpointsOfManyTenantsThatHangDelayNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.maxSends, h.perEndpoint = fewSends/2, fewPerEndpoint
		h.hanging()
		for range fewSends / 2 / 3 {
			h.floods(h.tenant(), 3, 2)
		}
		to := h.endpointOf(h.other, "other", event.RunCompleted)
		end := h.run()
		time.Sleep(2 * time.Second)
		h.arrives("while nothing is known of them", h.other, to, time.Second)
		for range 2 {
			time.Sleep(event.SendTimeout - time.Second)
			h.arrives("once they are known to fail", h.other, to, time.Second)
		}
		end()
		var hanging []time.Time
		for url, at := range h.times() {
			if strings.Contains(url, "hangs") {
				hanging = append(hanging, at...)
			}
		}
		slices.SortFunc(hanging, time.Time.Compare)
		if n := concurrent(since(hanging, hanging[0].Add(event.SendTimeout+time.Second))); n != fewSends/2/2 {
			t.Errorf("%d messages were sent at a time to endpoints that are known to fail", n)
		}
	})
}

func TestDeliveriesOfASuspendedTenantWaitAndGoOn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpointOf(h.who, "a", event.RunCompleted)
		become := func(verb func(*tenant.Tenant, time.Time)) {
			h.do(func(ctx context.Context, st outbound.Stores) error {
				ten, err := st.Tenants.Get(ctx, h.who.Tenant())
				if err != nil {
					return err
				}
				verb(ten, start)
				return st.Tenants.Update(ctx, ten)
			})
		}
		end := h.run()
		h.arrives("active", h.who, to, time.Second)
		become((*tenant.Tenant).Suspend)
		h.happenTo(h.who, event.RunCompleted)
		time.Sleep(10 * time.Second)
		if d := h.all(to)[1]; len(h.times()[to.URL()]) != 1 || d.Status() != event.Pending || d.Attempted() != 0 {
			t.Errorf("suspended: %+v", d.State())
		}
		become((*tenant.Tenant).Resume)
		time.Sleep(time.Second + 5*time.Millisecond)
		end()
		if d := h.all(to)[1]; len(h.times()[to.URL()]) != 2 || d.Status() != event.Delivered || d.Attempted() != 1 {
			t.Errorf("resumed: %+v", d.State())
		}
	})
}
