package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestAnEventReachesEveryEndpointThatWantsItOnceAndSigned(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		all, some := h.endpoint("all"), h.endpoint("some", event.RunFailed, event.RunPaused)
		h.endpoint("none", event.RunStarted)
		if _, err := h.endpoints.Create(t.Context(), h.other, domain.IdempotencyKey{}, event.EndpointDraft{URL: "https://example.com/foreign"}); err != nil {
			t.Fatal(err)
		}
		e := h.happen(event.RunFailed)
		h.sleepUntil(start.Add(90 * time.Second))
		h.settle()
		h.settle()
		lines := h.lines()
		slices.Sort(lines)
		if diff := cmp.Diff([]string{"all run.failed", "some run.failed"}, lines); diff != "" {
			t.Fatal(diff)
		}
		for _, m := range h.receivers.got {
			to, foreign := all, some
			if strings.HasSuffix(m.URL, "some") {
				to, foreign = some, all
			}
			if err := verify(to.Secret(), m.SignedMessage); err != nil || verify(foreign.Secret(), m.SignedMessage) == nil {
				t.Errorf("%s: %v", m.URL, err)
			}
			if d := h.all(to)[0]; m.Signature.ID != string(d.ID()) || m.Signature.Timestamp != strconv.FormatInt(start.Add(90*time.Second).Unix(), 10) ||
				string(m.Body) != string(e.Body()) || d.Status() != event.Delivered || d.Event() != e.ID() {
				t.Errorf("%+v of %+v", m, d.State())
			}
		}
	})
}

func TestBothSecretsSignForADayAfterRotation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		before := h.endpoint("a")
		after, err := h.endpoints.RotateSecret(t.Context(), h.who, domain.IdempotencyKey{}, before.ID())
		if err != nil || after.Secret().Equal(before.Secret()) {
			t.Fatal(err)
		}
		for i, c := range []struct {
			at  time.Duration
			old bool
		}{{0, true}, {event.SecretOverlap - time.Millisecond, true}, {event.SecretOverlap, false}} {
			h.sleepUntil(start.Add(c.at))
			h.happen(event.RunFailed)
			h.settle()
			m := h.receivers.got[i].SignedMessage
			if err := verify(after.Secret(), m); err != nil {
				t.Error(err)
			}
			if err := verify(before.Secret(), m); (err == nil) != c.old {
				t.Errorf("after %s the old secret verifies: %v", c.at, err)
			}
		}
	})
}

// The whole schedule on a virtual clock, through the store.
func TestADeliveryIsTriedAsTheScheduleSaysAndNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("down")
		h.receivers.status(503)
		h.happen(event.RunFailed)
		h.settle()
		for at := h.next(); !at.IsZero(); at = h.next() {
			h.sleepUntil(at.Add(-time.Millisecond))
			h.settle()
			n := len(h.receivers.got)
			h.sleepUntil(at)
			h.settle()
			if len(h.receivers.got) != n+1 {
				t.Fatalf("%d messages at %s", len(h.receivers.got)-n, at)
			}
		}
		steps := []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
		before, ids := start, map[string]bool{}
		for i, m := range h.receivers.got {
			if waited := m.at.Sub(before); i >= len(steps) || waited < steps[i]*8/10 || waited > steps[i]*12/10 {
				t.Fatalf("attempt %d came after %s", i+1, waited)
			}
			before, ids[m.Signature.ID] = m.at, true
			if m.Signature.Timestamp != strconv.FormatInt(m.at.Unix(), 10) {
				t.Errorf("attempt %d bears the time %s", i+1, m.Signature.Timestamp)
			}
		}
		if d := h.all(to)[0]; len(h.receivers.got) != 8 || len(ids) != 1 || d.Status() != event.Failed || d.Attempted() != 8 {
			t.Errorf("%d messages with %d identifiers: %+v", len(h.receivers.got), len(ids), d.State())
		}
		h.sleepUntil(start.AddDate(1, 0, 0))
		h.settle()
		if len(h.receivers.got) != 8 || !h.now(to).Active() {
			t.Error("it goes on")
		}
	})
}

func TestAnEndpointThatFailsForFiveDaysIsSwitchedOffAndTheOthersGetAnEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		down, up, other := h.endpoint("down"), h.endpoint("up", event.EndpointDisabled), h.endpoint("other", event.RunStarted)
		h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
			if m.URL == down.URL() {
				return event.AttemptResult{Code: "timeout"}, nil
			}
			return event.AttemptResult{Status: 200}, nil
		}
		at := start.Add(event.FailureLimit)
		for _, when := range []time.Time{start, start.Add(12 * time.Hour), start.AddDate(0, 0, 3), at.Add(-time.Millisecond), at} {
			if !h.now(down).Active() {
				t.Fatalf("it is switched off before %s", when)
			}
			h.sleepUntil(when)
			h.happen(event.RunFailed)
			h.settle()
		}
		e := h.now(down)
		if diff := cmp.Diff(&event.Disabled{At: at, Reason: event.DisabledFailing}, e.Disabled()); diff != "" || e.Active() || !e.FailingSince().Equal(start) {
			t.Errorf("%+v: %s", e.State(), diff)
		}
		disabled := h.all(up)
		if len(disabled) != 1 || disabled[0].Type() != event.EndpointDisabled || disabled[0].Status() != event.Delivered || len(h.all(other)) != 0 {
			t.Errorf("%d deliveries say so", len(disabled))
		}
		h.receivers.got = nil
		h.happen(event.RunFailed)
		h.sleepUntil(at.AddDate(0, 0, 2))
		h.settle()
		for _, d := range h.all(down) {
			if d.Status() != event.Failed {
				t.Errorf("%+v", d.State())
			}
		}
		if lines := h.lines(); lines != nil {
			t.Errorf("%v was sent to an endpoint that is off", lines)
		}
		yes := true
		if _, err := h.endpoints.Update(t.Context(), h.who, down.ID(), domain.Expected{}, event.EndpointPatch{Active: &yes}); err != nil {
			t.Fatal(err)
		}
		h.happen(event.RunFailed)
		h.settle()
		if e := h.now(down); !e.Active() || e.Disabled() != nil || !e.FailingSince().Equal(at.AddDate(0, 0, 2)) || len(h.lines()) != 1 {
			t.Errorf("switched on again: %+v", e.State())
		}
	})
}

func TestOneSuccessInFiveDaysIsEnough(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		for day := range 9 {
			h.receivers.status(500)
			if day == 4 {
				h.receivers.status(200)
			}
			h.sleepUntil(start.AddDate(0, 0, day))
			h.happen(event.RunFailed)
			h.settle()
		}
		if e := h.now(to); !e.Active() || !e.FailingSince().Equal(start.AddDate(0, 0, 5)) {
			t.Errorf("%+v", e.State())
		}
	})
}

func TestAnEndpointThatIsGoneIsSwitchedOffAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to, up := h.endpoint("gone"), h.endpoint("up", event.EndpointDisabled)
		h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
			if m.URL == to.URL() {
				return event.AttemptResult{Status: 410}, nil
			}
			return event.AttemptResult{Status: 200}, nil
		}
		h.happen(event.RunFailed)
		h.settle()
		if e := h.now(to); e.Active() || e.Disabled().Reason != event.DisabledGone || h.all(to)[0].Status() != event.Failed || len(h.all(up)) != 1 {
			t.Errorf("%+v", e.State())
		}
	})
}

// What did not come to an end is due again when its lease has ended, and not earlier.
func TestAnAttemptThatIsLostIsMadeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		lost := errors.New("the process stops")
		h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
			return event.AttemptResult{}, lost
		}
		h.happen(event.RunFailed)
		if _, err := h.dispatcher.FanOut(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		n, err := h.dispatcher.Deliver(t.Context())
		if d := h.all(to)[0]; n != 1 || !errors.Is(err, lost) || !strings.Contains(err.Error(), string(d.ID())) || d.Status() != event.Pending || d.Attempted() != 0 {
			t.Fatalf("%d: %v: %+v", n, err, d.State())
		}
		h.receivers.status(200)
		until := h.next()
		if until.Sub(start) <= event.SendTimeout {
			t.Errorf("it is leased for %s", until.Sub(start))
		}
		h.sleepUntil(until.Add(-time.Millisecond))
		h.settle()
		if len(h.receivers.got) != 1 {
			t.Error("it is sent while it is leased")
		}
		h.sleepUntil(until)
		h.settle()
		if d := h.all(to)[0]; d.Status() != event.Delivered || d.Attempted() != 1 || h.receivers.got[0].Signature.ID != h.receivers.got[1].Signature.ID {
			t.Errorf("%+v", d.State())
		}
	})
}

// A process stands still while it sends; another one takes its attempt for lost.
func TestAnAttemptThatTwoProcessesMadeIsRecordedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		h.happen(event.RunFailed)
		h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
			h.receivers.status(500)
			h.sleepUntil(h.next())
			if n, err := h.newDispatcher().Deliver(t.Context()); n != 1 || err != nil {
				t.Errorf("%d: %v", n, err)
			}
			return event.AttemptResult{Status: 200}, nil
		}
		if _, err := h.dispatcher.FanOut(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if n, err := h.dispatcher.Deliver(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if d := h.all(to)[0]; d.Attempted() != 1 || d.Attempts()[0].Status != 500 || d.Status() != event.Pending {
			t.Errorf("%+v", d.State())
		}
	})
}

func TestWhatIsDeletedWhileItIsSentNeedsNoRecord(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		h.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.AttemptResult, error) {
			return event.AttemptResult{Status: 500}, h.endpoints.Delete(ctx, h.who, to.ID(), domain.Expected{})
		}
		h.happen(event.RunFailed)
		h.settle()
		if len(h.receivers.got) != 1 {
			t.Errorf("%d were sent", len(h.receivers.got))
		}
	})
}

func TestAnAttemptComesToItsEndAfterTheDispatcherWasStopped(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		h.happen(event.RunFailed)
		if _, err := h.dispatcher.FanOut(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		h.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.AttemptResult, error) {
			stop()
			return event.AttemptResult{Status: 200}, ctx.Err()
		}
		if n, err := h.dispatcher.Deliver(ctx); n != 1 || err != nil || h.all(to)[0].Status() != event.Delivered {
			t.Errorf("%d: %v", n, err)
		}
	})
}

func TestAnEndpointGetsAFewMessagesAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		slow, fast := h.endpoint("slow"), h.endpoint("fast", event.RunStarted)
		for range 30 {
			h.happen(event.RunFailed)
		}
		h.happen(event.RunStarted)
		if _, err := h.dispatcher.FanOut(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		n, err := h.dispatcher.Deliver(t.Context())
		count := 0
		for _, line := range h.lines() {
			if strings.HasPrefix(line, "slow") {
				count++
			}
		}
		if n != 9 || err != nil || count != 8 || h.all(fast)[0].Status() != event.Delivered {
			t.Errorf("%d, of which %d to %s: %v", n, count, slow.URL(), err)
		}
	})
}

func TestAUnitMakesAHundredDeliveriesHoweverManyEndpointsThereAre(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		for i := range 10 {
			h.endpoint(fmt.Sprint(i))
		}
		for range 25 {
			h.happen(event.RunCompleted)
		}
		for _, want := range []int{10, 10, 5, 0} {
			if n, err := h.dispatcher.FanOut(t.Context(), 100); n != want || err != nil {
				t.Errorf("%d events, not %d: %v", n, want, err)
			}
		}
		h.settle()
		if n := len(h.receivers.got); n != 250 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestSeveralProcessesHandEachEventToEachEndpointOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := []*event.Endpoint{h.endpoint("a"), h.endpoint("b")}
		const events = 60
		for range events {
			h.happen(event.RunCompleted)
		}
		var done sync.WaitGroup
		for range 3 {
			done.Go(func() {
				d := h.newDispatcher()
				for {
					n, err := d.FanOut(t.Context(), 7)
					m, errDeliver := d.Deliver(t.Context())
					if errors.Join(err, errDeliver) != nil {
						t.Error(err, errDeliver)
					}
					if n+m == 0 {
						return
					}
				}
			})
		}
		done.Wait()
		h.settle()
		if n := len(h.receivers.got); n != 2*events {
			t.Errorf("%d messages", n)
		}
		for _, e := range to {
			seen := map[event.ID]bool{}
			found, err := h.deliveries.List(t.Context(), h.who, e.ID(), event.DeliveryFilter{Status: event.Delivered}, domain.Query{PageRequest: mustPage(t, 100)})
			for _, d := range found.Items {
				seen[d.Event()] = true
			}
			if err != nil || found.Total != events || len(seen) != events {
				t.Errorf("%d deliveries of %d events: %v", found.Total, len(seen), err)
			}
		}
	})
}

func mustPage(t *testing.T, limit int) domain.PageRequest {
	t.Helper()
	p, err := domain.NewPageRequest(limit, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnEventGoesToThoseOfItsSegment(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		for name, sub := range map[string]tenant.SubTenantID{"team": "team", "others": "others", "all": ""} {
			if _, err := h.endpoints.Create(t.Context(), h.who, domain.IdempotencyKey{}, event.EndpointDraft{URL: "https://example.com/" + name, SubTenant: sub}); err != nil {
				t.Fatal(err)
			}
		}
		e := event.Restore(event.State{ID: "evt_1", Tenant: h.who.Tenant(), SubTenant: "team", Type: event.RunPaused, At: start})
		h.do(func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Events.Append(ctx, e) })
		h.settle()
		lines := h.lines()
		slices.Sort(lines)
		if diff := cmp.Diff([]string{"all run.paused", "team run.paused"}, lines); diff != "" {
			t.Error(diff)
		}
	})
}
