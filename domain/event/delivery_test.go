package event_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
)

// steps is when each attempt follows the one before.
var steps = []time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// happened makes an event.
func happened(t testing.TB) *event.Event {
	t.Helper()
	e := event.Restore(event.State{ID: "evt_1", Tenant: "tenant_1", SubTenant: "team", Type: event.RunFailed, Data: domain.RestoreDocument("{\"runId\":\"run_1\", \"n\":1.50}"), At: noon})
	return e
}

// delivery makes a delivery whose first attempt is due at noon.
func delivery(t testing.TB, id event.DeliveryID) *event.Delivery {
	t.Helper()
	return event.NewDelivery(id, endpoint(t, event.EndpointDraft{URL: "https://example.com"}), happened(t), noon)
}

func TestAnEventIsSentAsItWas(t *testing.T) {
	const want = "{\"id\":\"evt_1\",\"type\":\"run.failed\",\"timestamp\":\"2026-11-21T12:00:00.123Z\",\"data\":{\"runId\":\"run_1\", \"n\":1.50}}"
	e := happened(t)
	if got := string(e.Body()); got != want || !json.Valid([]byte(got)) {
		t.Error(got)
	}
	if diff := cmp.Diff(want, string(event.Restore(e.State()).Body())); diff != "" {
		t.Error(diff)
	}
	test := event.NewTest("evt_2", endpoint(t, event.EndpointDraft{URL: "https://example.com", SubTenant: "team"}), noon)
	if !json.Valid(test.Body()) || test.Type() != event.EndpointTest || test.SubTenant() != "team" {
		t.Errorf("%s", test.Body())
	}
	for _, known := range append(event.Types(), event.EndpointTest) {
		if known.Subscribable() != (known != event.EndpointTest) {
			t.Errorf("%s is not as the others", known)
		}
	}
}

// The whole schedule on a virtual clock: each attempt is due when the one before it has
// ended and its step, more or less a fifth, has passed.
func TestADeliveryThatOnlyFailsIsTriedEightTimesAndHasFailed(t *testing.T) {
	d := delivery(t, "msg_1")
	clock := noon
	for i, step := range steps {
		due := d.NextAttemptAt()
		if due == nil || d.Status() != event.Pending {
			t.Fatalf("attempt %d is never due", i+1)
		}
		if waits := due.Sub(clock); waits < step*8/10 || waits > step*12/10 {
			t.Errorf("attempt %d waits %s, not %s more or less a fifth", i+1, waits, step)
		}
		clock = *due
		if !d.Record(d.NextAttempt(), clock, event.AttemptResult{Status: 500, Duration: 3 * time.Second, Code: "unexpected_status", Error: "no"}) {
			t.Fatalf("attempt %d is not recorded", i+1)
		}
		clock = clock.Add(3 * time.Second)
	}
	attempts := d.Attempts()
	if d.Status() != event.Failed || d.NextAttemptAt() != nil || d.Reason() != "All 8 attempts failed." || len(attempts) != 8 || d.Attempted() != 8 || !d.UpdatedAt().Equal(clock) {
		t.Errorf("in the end: %+v", d.State())
	}
	want := event.Attempt{Number: 8, At: clock.Add(-3 * time.Second), Duration: 3 * time.Second, Status: 500, Code: "unexpected_status", Error: "no"}
	if diff := cmp.Diff(want, attempts[7]); diff != "" {
		t.Error(diff)
	}
	if d.Record(9, clock, event.AttemptResult{Status: 200}) || d.Status() != event.Failed {
		t.Error("what has ended is recorded on")
	}
}

func TestEveryDelayIsWithinAFifthOfItsStepAndSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := event.DeliveryID(rapid.String().Draw(t, "id"))
		for i, step := range steps {
			wait, ok := event.Delay(id, i+1)
			again, _ := event.Delay(id, i+1)
			if !ok || wait != again || wait < step*8/10 || wait > step*12/10 || wait%time.Millisecond != 0 {
				t.Fatalf("attempt %d waits %s", i+1, wait)
			}
		}
		for _, n := range []int{rapid.IntMax(0).Draw(t, "before"), rapid.IntMin(9).Draw(t, "after")} {
			if _, ok := event.Delay(id, n); ok {
				t.Fatalf("there is an attempt %d", n)
			}
		}
	})
	var low, high, sum time.Duration
	low = time.Hour
	const n = 2000
	for i := range n {
		wait, _ := event.Delay(event.DeliveryID(fmt.Sprint("msg_", i)), 3)
		low, high, sum = min(low, wait), max(high, wait), sum+wait
	}
	if mean := sum / n; low > 242*time.Second || high < 358*time.Second || mean < 297*time.Second || mean > 303*time.Second {
		t.Errorf("of 5m, more or less a fifth: from %s to %s, %s on average", low, high, mean)
	}
}

// Whatever endpoints answer and whoever asks for what, a delivery ends, and it ends as
// delivered exactly when the endpoint ever took it.
func TestEveryDeliveryEnds(t *testing.T) {
	outcome := rapid.Custom(func(t *rapid.T) event.AttemptResult {
		return event.AttemptResult{
			Status:     rapid.SampledFrom([]int{0, 100, 200, 204, 299, 300, 302, 404, 410, 429, 500, 503, 599}).Draw(t, "status"),
			Duration:   time.Duration(rapid.Int64Range(0, int64(event.SendTimeout)).Draw(t, "duration")),
			RetryAfter: time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "retryAfter")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		d := event.NewDelivery("msg_1", event.RestoreEndpoint(event.EndpointState{}), event.Restore(event.State{}), noon)
		clock, scheduled, taken, asked := noon, 0, false, 0
		for range 200 {
			if asked < 5 && rapid.IntRange(0, 9).Draw(t, "ask") == 0 {
				asked++
				d.Redeliver(rapid.Bool().Draw(t, "active"), clock)
			}
			if d.Status() != event.Pending {
				break
			}
			due := *d.NextAttemptAt()
			if due.Before(clock) {
				due = clock
			}
			if most := max(12*time.Hour, event.MaxRetryAfter); due.Sub(clock) > most {
				t.Fatalf("it waits %s", due.Sub(clock))
			}
			manual, o := d.Manual(), outcome.Draw(t, "outcome")
			if !manual {
				scheduled++
			}
			if !d.Record(d.NextAttempt(), due, o) {
				t.Fatal("it is not recorded")
			}
			taken = taken || o.Succeeded()
			clock = due.Add(o.Duration).Truncate(time.Millisecond)
			if next := d.NextAttemptAt(); next != nil && (manual || o.Succeeded() || o.Gone()) {
				t.Fatalf("another attempt at %s follows %+v", next, o)
			}
			if n := len(d.Attempts()); n != min(d.Attempted(), event.MaxKeptAttempts) {
				t.Fatalf("%d of %d attempts are kept", n, d.Attempted())
			}
		}
		if d.Status() == event.Pending || scheduled > event.MaxAttempts || (d.Status() == event.Delivered) != taken || (d.DeliveredAt() != nil) != taken {
			t.Fatalf("after %d attempts of the schedule, taken %v: %+v", scheduled, taken, d.State())
		}
		if (d.Reason() != "") != (d.Status() == event.Failed) || d.NextAttemptAt() != nil {
			t.Fatalf("%+v", d.State())
		}
	})
}

func TestWhatAnAttemptMakesOfADelivery(t *testing.T) {
	delay := func(n int) time.Duration { wait, _ := event.Delay("msg_1", n); return wait }
	const took = 1500 * time.Microsecond
	ended := noon.Add(took).Truncate(time.Millisecond)
	for claim, c := range map[string]struct {
		o      event.AttemptResult
		status event.Status
		reason string
		next   time.Duration // after the end; 0 for never
	}{
		"200": {event.AttemptResult{Status: 200}, event.Delivered, "", 0}, "299": {event.AttemptResult{Status: 299}, event.Delivered, "", 0},
		"199":                   {event.AttemptResult{Status: 199}, event.Pending, "", delay(2)},
		"a redirect":            {event.AttemptResult{Status: 301}, event.Pending, "", delay(2)},
		"no answer":             {event.AttemptResult{}, event.Pending, "", delay(2)},
		"gone":                  {event.AttemptResult{Status: 410}, event.Failed, "The endpoint answered 410 Gone, which asks for no more webhooks.", 0},
		"wait less":             {event.AttemptResult{Status: 503, RetryAfter: time.Second}, event.Pending, "", delay(2)},
		"wait more":             {event.AttemptResult{Status: 503, RetryAfter: time.Hour}, event.Pending, "", time.Hour},
		"wait more than is fit": {event.AttemptResult{Status: 429, RetryAfter: 11 * time.Hour}, event.Pending, "", 10 * time.Hour},
	} {
		d := delivery(t, "msg_1")
		c.o.Duration = took
		if !d.Record(1, noon, c.o) || d.Status() != c.status || d.Reason() != c.reason {
			t.Errorf("%s: %+v", claim, d.State())
		}
		var want *time.Time
		if c.next > 0 {
			want = new(ended.Add(c.next))
		}
		if diff := cmp.Diff(want, d.NextAttemptAt()); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
		if wantAt := c.status == event.Delivered; (d.DeliveredAt() != nil) != wantAt || wantAt && !d.DeliveredAt().Equal(ended) {
			t.Errorf("%s: delivered at %v", claim, d.DeliveredAt())
		}
	}
}

func TestAnAttemptIsRecordedOnce(t *testing.T) {
	d := delivery(t, "msg_1")
	st := d.State()
	st.LeasedUntil = new(noon.Add(time.Minute))
	d = event.RestoreDelivery(st)
	if d.Record(2, noon, event.AttemptResult{Status: 200}) || !d.Record(1, noon, event.AttemptResult{}) || d.State().LeasedUntil != nil {
		t.Errorf("%+v", d.State())
	}
	if d.Record(1, noon, event.AttemptResult{Status: 200}) || d.Status() != event.Pending || d.Attempted() != 1 {
		t.Errorf("%+v", d.State())
	}
}

// A redelivery that was asked for since the delivery was leased is left to be made, and is
// no part of the attempt for which it was.
func TestTheAttemptOfALeaseIsRecordedAsItWasThen(t *testing.T) {
	for claim, c := range map[string]struct {
		since               func(*event.Delivery)
		recorded, requested bool
	}{
		"nothing has happened":                 {func(*event.Delivery) {}, true, false},
		"somebody asked for a redelivery":      {func(d *event.Delivery) { d.Redeliver(false, noon); d.Saved() }, true, true},
		"another process recorded the attempt": {func(d *event.Delivery) { d.Record(1, noon, event.AttemptResult{}); d.Saved() }, false, false},
	} {
		leased := delivery(t, "msg_1")
		d := event.RestoreDelivery(leased.State())
		c.since(d)
		before := d.State()
		recorded, requested := d.RecordLeased(leased, noon, event.AttemptResult{Status: 500})
		if recorded != c.recorded || requested != c.requested {
			t.Errorf("%s: recorded %v, requested %v", claim, recorded, requested)
		}
		if !recorded {
			if diff := cmp.Diff(before, d.State()); diff != "" {
				t.Errorf("%s: %s", claim, diff)
			}
		} else if d.Status() != event.Pending || d.Attempts()[0].Manual {
			t.Errorf("%s: %+v", claim, d.State())
		}
	}
}

func TestALeaseIsReleasedOnce(t *testing.T) {
	st := delivery(t, "msg_1").State()
	st.LeasedUntil = new(noon.Add(time.Minute))
	leased, d := event.RestoreDelivery(st), event.RestoreDelivery(st)
	if !d.Release(leased) || d.State().LeasedUntil != nil || d.Release(leased) {
		t.Errorf("%+v", d.State())
	}
	st.LeasedUntil = new(noon.Add(time.Hour))
	if anew := event.RestoreDelivery(st); anew.Release(leased) || anew.State().LeasedUntil == nil {
		t.Errorf("%+v", anew.State())
	}
}

func TestRedeliveringMakesOneAttemptMore(t *testing.T) {
	later := noon.Add(time.Second)
	bad, ok := event.AttemptResult{Status: 500}, event.AttemptResult{Status: 200}
	delivered, failed, waiting := delivery(t, "msg_1"), delivery(t, "msg_1"), delivery(t, "msg_1")
	delivered.Record(1, noon, ok)
	failed.Record(1, noon, event.AttemptResult{Status: 410})
	waiting.Record(1, noon, bad)
	for claim, c := range map[string]struct {
		from   *event.Delivery
		active bool
		o      event.AttemptResult
		want   event.Status
	}{
		"delivered again":                        {delivered, true, ok, event.Delivered},
		"delivered before, not again":            {delivered, true, bad, event.Delivered},
		"failed, and now delivered":              {failed, true, ok, event.Delivered},
		"failed again":                           {failed, true, bad, event.Failed},
		"failed, to an endpoint that is off":     {failed, false, ok, event.Delivered},
		"pending: the schedule goes on":          {waiting, true, bad, event.Pending},
		"pending, to an endpoint that is off":    {waiting, false, bad, event.Failed},
		"pending, to one that is off, delivered": {waiting, false, ok, event.Delivered},
	} {
		d := event.RestoreDelivery(c.from.State())
		d.Redeliver(c.active, later)
		if d.Status() != event.Pending || !d.NextAttemptAt().Equal(later) || d.Reason() != "" || !d.UpdatedAt().Equal(later) {
			t.Errorf("%s: %+v", claim, d.State())
		}
		if manual := d.Manual(); manual && d.Abandon(later) {
			t.Errorf("%s: what was asked for is abandoned", claim)
		}
		manual := d.Manual()
		d.Record(2, later, c.o)
		if last := d.Attempts()[1]; d.Status() != c.want || d.Manual() || last.Manual != manual || (d.NextAttemptAt() != nil) != (c.want == event.Pending) {
			t.Errorf("%s: %+v", claim, d.State())
		}
		if at := d.DeliveredAt(); c.from == delivered && !at.Equal(noon) {
			t.Errorf("%s: first delivered at %s", claim, at)
		}
	}
	due := delivery(t, "msg_1")
	due.Redeliver(true, later)
	if !due.NextAttemptAt().Equal(noon) || due.Manual() {
		t.Errorf("what is due anyway: %+v", due.State())
	}
}

func TestATestIsTriedOnce(t *testing.T) {
	to := endpoint(t, event.EndpointDraft{URL: "https://example.com", Active: new(false)})
	d := event.NewTestDelivery("msg_1", to, event.NewTest("evt_1", to, noon), noon)
	if d.Abandon(noon) || !d.Record(1, noon, event.AttemptResult{}) || d.Status() != event.Failed || d.Reason() != "The attempt that was asked for failed." {
		t.Errorf("%+v", d.State())
	}
}

func TestWhatIsAbandonedHasFailed(t *testing.T) {
	d := delivery(t, "msg_1")
	if !d.Abandon(noon.Add(time.Second)) || d.Abandon(noon) || d.Status() != event.Failed || d.NextAttemptAt() != nil || d.Attempted() != 0 ||
		!strings.Contains(d.Reason(), "not active") || !d.UpdatedAt().Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", d.State())
	}
}

func FuzzExcerpt(f *testing.F) {
	for _, seed := range []string{"", "no", "a\x00b\xff", strings.Repeat("ü", 600), strings.Repeat("x", 1023) + "€", strings.Repeat("\xff", 4000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		got := event.Excerpt(answer)
		var r domain.Rules
		r.Text(got, "excerpt", 0, event.MaxExcerpt)
		if len(got) > event.MaxExcerpt || r.Violations() != nil {
			t.Errorf("%d bytes: %v", len(got), r.Violations())
		}
		if plain := string(answer); len(plain) <= event.MaxExcerpt && strings.ToValidUTF8(plain, "") == plain && !strings.Contains(plain, "\x00") && got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	})
}
