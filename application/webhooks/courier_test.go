package webhooks_test

import (
	"context"
	"errors"
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
	t.Parallel()
	w := newWorld(t)
	all, some := w.endpoint("all"), w.endpoint("some", event.RunFailed, event.RunPaused)
	w.endpoint("none", event.RunStarted)
	if _, err := w.endpoints.Create(t.Context(), w.other, domain.Once{}, event.EndpointDraft{URL: "https://example.com/foreign"}); err != nil {
		t.Fatal(err)
	}
	e := w.happen(event.RunFailed)
	w.clock.Set(noon.Add(90 * time.Second))
	w.settle()
	w.settle()
	lines := w.lines()
	slices.Sort(lines)
	if diff := cmp.Diff([]string{"all run.failed", "some run.failed"}, lines); diff != "" {
		t.Fatal(diff)
	}
	for _, m := range w.receivers.got {
		to, stranger := all, some
		if strings.HasSuffix(m.URL, "some") {
			to, stranger = some, all
		}
		if err := verify(to.Secret(), m.SignedMessage); err != nil || verify(stranger.Secret(), m.SignedMessage) == nil {
			t.Errorf("%s: %v", m.URL, err)
		}
		if d := w.all(to)[0]; m.Signature.ID != string(d.ID()) || m.Signature.Timestamp != strconv.FormatInt(noon.Add(90*time.Second).Unix(), 10) ||
			string(m.Body) != string(e.Body()) || d.Status() != event.Delivered || d.Event() != e.ID() {
			t.Errorf("%+v of %+v", m, d.State())
		}
	}
}

func TestBothSecretsSignForADayAfterRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.endpoint("a")
	after, err := w.endpoints.RotateSecret(t.Context(), w.who, domain.Once{}, before.ID())
	if err != nil || after.Secret().Equal(before.Secret()) {
		t.Fatal(err)
	}
	for i, c := range []struct {
		at  time.Duration
		old bool
	}{{0, true}, {event.SecretOverlap - time.Millisecond, true}, {event.SecretOverlap, false}} {
		w.clock.Set(noon.Add(c.at))
		w.happen(event.RunFailed)
		w.settle()
		m := w.receivers.got[i].SignedMessage
		if err := verify(after.Secret(), m); err != nil {
			t.Error(err)
		}
		if err := verify(before.Secret(), m); (err == nil) != c.old {
			t.Errorf("after %s the old secret verifies: %v", c.at, err)
		}
	}
}

// The whole schedule on a virtual clock, through the store.
func TestADeliveryIsTriedAsTheScheduleSaysAndNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("down")
	w.receivers.status(503)
	w.happen(event.RunFailed)
	w.settle()
	for at := w.next(); !at.IsZero(); at = w.next() {
		w.clock.Set(at.Add(-time.Millisecond))
		w.settle()
		n := len(w.receivers.got)
		w.clock.Set(at)
		w.settle()
		if len(w.receivers.got) != n+1 {
			t.Fatalf("%d messages at %s", len(w.receivers.got)-n, at)
		}
	}
	steps := []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	before, ids := noon, map[string]bool{}
	for i, m := range w.receivers.got {
		if waited := m.at.Sub(before); i >= len(steps) || waited < steps[i]*8/10 || waited > steps[i]*12/10 {
			t.Fatalf("attempt %d came after %s", i+1, waited)
		}
		before, ids[m.Signature.ID] = m.at, true
		if m.Signature.Timestamp != strconv.FormatInt(m.at.Unix(), 10) {
			t.Errorf("attempt %d bears the time %s", i+1, m.Signature.Timestamp)
		}
	}
	if d := w.all(to)[0]; len(w.receivers.got) != 8 || len(ids) != 1 || d.Status() != event.Failed || d.Attempted() != 8 {
		t.Errorf("%d messages with %d identifiers: %+v", len(w.receivers.got), len(ids), d.State())
	}
	w.clock.Set(noon.AddDate(1, 0, 0))
	w.settle()
	if len(w.receivers.got) != 8 || !w.now(to).Active() {
		t.Error("it goes on")
	}
}

func TestAnEndpointThatFailsForFiveDaysIsSwitchedOffAndTheOthersAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down, up, deaf := w.endpoint("down"), w.endpoint("up", event.EndpointDisabled), w.endpoint("deaf", event.RunStarted)
	w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
		if m.URL == down.URL() {
			return event.Outcome{Code: "timeout"}, nil
		}
		return event.Outcome{Status: 200}, nil
	}
	at := noon.Add(event.FailureLimit)
	for _, when := range []time.Time{noon, noon.Add(12 * time.Hour), noon.AddDate(0, 0, 3), at.Add(-time.Millisecond), at} {
		if !w.now(down).Active() {
			t.Fatalf("it is switched off before %s", when)
		}
		w.clock.Set(when)
		w.happen(event.RunFailed)
		w.settle()
	}
	e := w.now(down)
	if diff := cmp.Diff(&event.Disabled{At: at, Reason: event.DisabledFailing}, e.Disabled()); diff != "" || e.Active() || !e.FailingSince().Equal(noon) {
		t.Errorf("%+v: %s", e.State(), diff)
	}
	told := w.all(up)
	if len(told) != 1 || told[0].Type() != event.EndpointDisabled || told[0].Status() != event.Delivered || len(w.all(deaf)) != 0 {
		t.Errorf("%d were told", len(told))
	}
	w.receivers.got = nil
	w.happen(event.RunFailed)
	w.clock.Set(at.AddDate(0, 0, 2))
	w.settle()
	for _, d := range w.all(down) {
		if d.Status() != event.Failed {
			t.Errorf("%+v", d.State())
		}
	}
	if lines := w.lines(); lines != nil {
		t.Errorf("%v was sent to an endpoint that is off", lines)
	}
	yes := true
	if _, err := w.endpoints.Update(t.Context(), w.who, down.ID(), domain.Expected{}, event.EndpointPatch{Active: &yes}); err != nil {
		t.Fatal(err)
	}
	w.happen(event.RunFailed)
	w.settle()
	if e := w.now(down); !e.Active() || e.Disabled() != nil || !e.FailingSince().Equal(at.AddDate(0, 0, 2)) || len(w.lines()) != 1 {
		t.Errorf("switched on again: %+v", e.State())
	}
}

func TestOneSuccessInFiveDaysIsEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	for day := range 9 {
		w.receivers.status(500)
		if day == 4 {
			w.receivers.status(200)
		}
		w.clock.Set(noon.AddDate(0, 0, day))
		w.happen(event.RunFailed)
		w.settle()
	}
	if e := w.now(to); !e.Active() || !e.FailingSince().Equal(noon.AddDate(0, 0, 5)) {
		t.Errorf("%+v", e.State())
	}
}

func TestAnEndpointThatIsGoneIsSwitchedOffAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to, up := w.endpoint("gone"), w.endpoint("up", event.EndpointDisabled)
	w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
		if m.URL == to.URL() {
			return event.Outcome{Status: 410}, nil
		}
		return event.Outcome{Status: 200}, nil
	}
	w.happen(event.RunFailed)
	w.settle()
	if e := w.now(to); e.Active() || e.Disabled().Reason != event.DisabledGone || w.all(to)[0].Status() != event.Failed || len(w.all(up)) != 1 {
		t.Errorf("%+v", e.State())
	}
}

// What did not come to an end is due again when its lease has ended, and not earlier.
func TestAnAttemptThatIsLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	lost := errors.New("the process stops")
	w.receivers.answer = func(context.Context, outbound.SignedMessage) (event.Outcome, error) { return event.Outcome{}, lost }
	w.happen(event.RunFailed)
	if _, err := w.courier.FanOut(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	n, err := w.courier.Deliver(t.Context())
	if d := w.all(to)[0]; n != 1 || !errors.Is(err, lost) || !strings.Contains(err.Error(), string(d.ID())) || d.Status() != event.Pending || d.Attempted() != 0 {
		t.Fatalf("%d: %v: %+v", n, err, d.State())
	}
	w.receivers.status(200)
	until := w.next()
	if until.Sub(noon) <= event.SendTimeout {
		t.Errorf("it is lent for %s", until.Sub(noon))
	}
	w.clock.Set(until.Add(-time.Millisecond))
	w.settle()
	if len(w.receivers.got) != 1 {
		t.Error("it is sent while it is lent")
	}
	w.clock.Set(until)
	w.settle()
	if d := w.all(to)[0]; d.Status() != event.Delivered || d.Attempted() != 1 || w.receivers.got[0].Signature.ID != w.receivers.got[1].Signature.ID {
		t.Errorf("%+v", d.State())
	}
}

// A process stands still while it sends; another one takes its attempt for lost.
func TestAnAttemptThatTwoProcessesMadeIsRecordedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	w.happen(event.RunFailed)
	w.receivers.answer = func(context.Context, outbound.SignedMessage) (event.Outcome, error) {
		w.receivers.status(500)
		w.clock.Set(w.next())
		if n, err := w.newCourier().Deliver(t.Context()); n != 1 || err != nil {
			t.Errorf("%d: %v", n, err)
		}
		return event.Outcome{Status: 200}, nil
	}
	if _, err := w.courier.FanOut(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if n, err := w.courier.Deliver(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if d := w.all(to)[0]; d.Attempted() != 1 || d.Attempts()[0].Status != 500 || d.Status() != event.Pending {
		t.Errorf("%+v", d.State())
	}
}

func TestWhatIsDeletedWhileItIsSentNeedsNoRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	w.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.Outcome, error) {
		return event.Outcome{Status: 500}, w.endpoints.Delete(ctx, w.who, to.ID(), domain.Expected{})
	}
	w.happen(event.RunFailed)
	w.settle()
	if len(w.receivers.got) != 1 {
		t.Errorf("%d were sent", len(w.receivers.got))
	}
}

func TestAnAttemptComesToItsEndAfterTheCourierWasStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := w.endpoint("a")
	w.happen(event.RunFailed)
	if _, err := w.courier.FanOut(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.receivers.answer = func(ctx context.Context, _ outbound.SignedMessage) (event.Outcome, error) {
		stop()
		return event.Outcome{Status: 200}, ctx.Err()
	}
	if n, err := w.courier.Deliver(ctx); n != 1 || err != nil || w.all(to)[0].Status() != event.Delivered {
		t.Errorf("%d: %v", n, err)
	}
}

func TestAnEndpointGetsAFewMessagesAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow, fast := w.endpoint("slow"), w.endpoint("fast", event.RunStarted)
	for range 30 {
		w.happen(event.RunFailed)
	}
	w.happen(event.RunStarted)
	if _, err := w.courier.FanOut(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	n, err := w.courier.Deliver(t.Context())
	count := 0
	for _, line := range w.lines() {
		if strings.HasPrefix(line, "slow") {
			count++
		}
	}
	if n != 9 || err != nil || count != 8 || w.all(fast)[0].Status() != event.Delivered {
		t.Errorf("%d, of which %d to %s: %v", n, count, slow.URL(), err)
	}
}

func TestSeveralProcessesHandEachEventToEachEndpointOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := []*event.Endpoint{w.endpoint("a"), w.endpoint("b")}
	const events = 60
	for range events {
		w.happen(event.RunCompleted)
	}
	var done sync.WaitGroup
	for range 3 {
		done.Go(func() {
			courier := w.newCourier()
			for {
				n, err := courier.FanOut(t.Context(), 7)
				m, errDeliver := courier.Deliver(t.Context())
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
	w.settle()
	if n := len(w.receivers.got); n != 2*events {
		t.Errorf("%d messages", n)
	}
	for _, e := range to {
		seen := map[event.ID]bool{}
		found, err := w.deliveries.List(t.Context(), w.who, e.ID(), event.DeliveryFilter{Status: event.Delivered}, domain.Query{PageRequest: mustPage(t, 100)})
		for _, d := range found.Items {
			seen[d.Event()] = true
		}
		if err != nil || found.Total != events || len(seen) != events {
			t.Errorf("%d deliveries of %d events: %v", found.Total, len(seen), err)
		}
	}
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
	t.Parallel()
	w := newWorld(t)
	for name, sub := range map[string]tenant.SubTenantID{"team": "team", "others": "others", "all": ""} {
		if _, err := w.endpoints.Create(t.Context(), w.who, domain.Once{}, event.EndpointDraft{URL: "https://example.com/" + name, SubTenant: sub}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := event.New("evt_1", w.who.Tenant, "team", event.RunPaused, domain.Document{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	w.do(func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Events.Append(ctx, e) })
	w.settle()
	lines := w.lines()
	slices.Sort(lines)
	if diff := cmp.Diff([]string{"all run.paused", "team run.paused"}, lines); diff != "" {
		t.Error(diff)
	}
}
