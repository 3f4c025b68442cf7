package webhooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

func redeliver(t *testing.T, h *harness, deliveries *webhooks.Deliveries, d *event.Delivery) {
	t.Helper()
	if _, err := deliveries.Redeliver(t.Context(), h.who, domain.IdempotencyKey{}, d.ID()); err != nil {
		t.Error(err)
	}
}

func (h *harness) redeliver(d *event.Delivery) { redeliver(h.T, h, h.deliveries, d) }

// claim leases the only delivery that is due.
func (h *harness) claim() outbound.DueDelivery {
	h.Helper()
	due, err := h.dispatcher.Claim(h.Context())
	if err != nil || len(due) != 1 {
		h.Fatalf("%d are due: %v", len(due), err)
	}
	return due[0]
}

func (h *harness) attempt(due outbound.DueDelivery) {
	h.Helper()
	if _, err := h.dispatcher.Attempt(h.Context(), due); err != nil {
		h.Error(err)
	}
}

func (h *harness) setActive(to *event.Endpoint, active bool) {
	h.Helper()
	if _, err := h.endpoints.Update(h.Context(), h.who, to.ID(), domain.Expected{}, event.EndpointPatch{Active: &active}); err != nil {
		h.Error(err)
	}
}

// newDelivery is a delivery that is due, or one that arrived and that somebody asked for
// again.
func (h *harness) newDelivery(to *event.Endpoint, arrived bool) *event.Delivery {
	h.Helper()
	h.happen(event.RunFailed)
	if arrived {
		h.settle()
		h.redeliver(h.all(to)[0])
	} else if _, err := h.dispatcher.FanOut(h.Context(), 9); err != nil {
		h.Fatal(err)
	}
	return h.all(to)[0]
}

// Whenever somebody asks for a redelivery between the claim of an attempt and its record,
// one more message follows at once, whatever becomes of the attempt.
func TestARedeliveryFollowsTheAttemptDuringWhichItWasAskedFor(t *testing.T) {
	t.Parallel()
	type moment func(h *harness, status int, ask func())
	for when, asks := range map[string]moment{
		"before it is sent": func(_ *harness, _ int, ask func()) { ask() },
		"while it is sent": func(h *harness, status int, ask func()) {
			h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
				h.receivers.status(status)
				ask()
				return event.AttemptResult{Status: status}, nil
			}
		},
		"before it is recorded": func(h *harness, _ int, ask func()) { h.store.before = ask },
	} {
		for _, status := range []int{200, 503, 410} {
			for _, arrived := range []bool{false, true} {
				for _, off := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, answer %d, arrived before %v, switched off %v", when, status, arrived, off), func(t *testing.T) {
						inBubble(t, func(t *testing.T, h *harness) {
							to := h.endpoint("a")
							d := h.newDelivery(to, arrived)
							h.receivers.status(status)
							sent, due := len(h.receivers.got), h.claim()
							asks(h, status, func() {
								if off {
									h.setActive(to, false)
								}
								h.redeliver(d)
							})
							h.attempt(due)
							h.settle()
							got := h.all(to)[0]
							attempts := got.Attempts()[d.Attempted():]
							if n := len(h.receivers.got) - sent; n != 2 || len(attempts) != 2 {
								t.Fatalf("%d messages: %+v", n, got.State())
							}
							single := arrived || off || status != 503 // not one of the schedule
							if attempts[0].Manual != arrived || attempts[1].Manual != single || attempts[1].At != attempts[0].At {
								t.Errorf("%+v", attempts)
							}
							if pending := got.Status() == event.Pending; pending == single {
								t.Errorf("%+v", got.State())
							}
						})
					})
				}
			}
		}
	}
}

func TestARedeliveryBeforeTheClaimIsThatAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		h.redeliver(h.newDelivery(to, false))
		h.settle()
		if d := h.all(to)[0]; len(h.receivers.got) != 1 || d.Attempted() != 1 || d.Status() != event.Delivered {
			t.Errorf("%d messages: %+v", len(h.receivers.got), d.State())
		}
	})
}

// The lease of an attempt ends before it is recorded, somebody asks for a redelivery, and
// another process claims the delivery: it is sent after that, whoever records first.
func TestARedeliveryIsMadeThoughTheLeaseOfTheAttemptHasEnded(t *testing.T) {
	t.Parallel()
	for claim, lateFirst := range map[string]bool{"the late one records first": true, "the other one records first": false} {
		t.Run(claim, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				to := h.endpoint("a")
				d := h.newDelivery(to, false)
				late := h.claim()
				h.sleepUntil(h.next())
				h.redeliver(d)
				other := h.claim()
				if lateFirst {
					h.attempt(late)
					h.attempt(other)
				} else {
					h.attempt(other)
					h.attempt(late)
				}
				h.settle()
				want := 1
				if lateFirst {
					want = 2
				}
				if got := h.all(to)[0]; got.Attempted() != want || len(h.receivers.got) != want+1 || got.Status() != event.Delivered {
					t.Errorf("%d messages: %+v", len(h.receivers.got), got.State())
				}
			})
		})
	}
}

// The endpoint was off when the delivery was claimed. Before that is recorded it is active
// again, or somebody asks for the message.
func TestWhatWasNotSentIsDueAtOnceWhenThatChanges(t *testing.T) {
	t.Parallel()
	for claim, change := range map[string]func(h *harness, to *event.Endpoint, d *event.Delivery){
		"the endpoint is active again": func(h *harness, to *event.Endpoint, _ *event.Delivery) { h.setActive(to, true) },
		"somebody asks for it":         func(h *harness, _ *event.Endpoint, d *event.Delivery) { h.redeliver(d) },
	} {
		t.Run(claim, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				to := h.endpoint("a")
				d := h.newDelivery(to, false)
				h.setActive(to, false)
				due := h.claim()
				change(h, to, d)
				h.attempt(due)
				if len(h.receivers.got) != 0 || !h.next().Equal(time.Now()) {
					t.Errorf("%d messages, and the next is due at %s", len(h.receivers.got), h.next())
				}
				h.settle()
				if d := h.all(to)[0]; len(h.receivers.got) != 1 || d.Status() != event.Delivered {
					t.Errorf("%d messages: %+v", len(h.receivers.got), d.State())
				}
			})
		})
	}
}

// An endpoint takes ten seconds to answer. Somebody asks for a redelivery meanwhile.
func TestTheDispatcherRedeliversWhenTheAttemptHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.poll = time.Hour
		to := h.endpoint("slow")
		h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
			time.Sleep(10 * time.Second)
			return event.AttemptResult{Status: 200, Duration: 10 * time.Second}, nil
		}
		end := h.run()
		h.happen(event.RunFailed)
		time.Sleep(5 * time.Second)
		h.redeliver(h.all(to)[0])
		time.Sleep(time.Minute)
		end()
		at := h.times()[to.URL()]
		if len(at) != 2 || at[1].Sub(at[0]) < 10*time.Second || at[1].Sub(at[0]) > 10*time.Second+10*time.Millisecond {
			t.Errorf("messages at %v", at)
		}
	})
}
