package webhooks

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	ms           = time.Millisecond
	failingSends = maxSends / 2
)

// found is what the send loop finds when it looks.
type found struct {
	next time.Duration // when something is due; negative for never
	due  int           // how many deliveries can be sent, if as many are asked for
	fail error
}

// claimed is a claim that the send loop made.
type claimed struct {
	At            time.Duration
	Free, Failing int
}

// script is what a send loop meets.
type script struct {
	lasts   time.Duration
	takes   func(attempt int64) time.Duration
	again   func(attempt int64) bool // it is to be made again; nil for none
	signals []time.Duration
	fails   func(delivery int) bool // it goes to an endpoint that fails; nil for none
	find    func(claims int, now time.Duration) found
}

// observed is what it did.
type observed struct {
	Looks, Failures int
	Claims          []claimed
	Ended           time.Duration
}

// runLoop runs a send loop in a bubble.
func runLoop(t *testing.T, s script) (o observed) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), s.lasts)
		defer stop()
		signal := make(chan struct{}, 1)
		for _, at := range s.signals {
			defer time.AfterFunc(at, func() { notify(signal) }).Stop()
		}
		var attempts atomic.Int64
		deliveries := 0
		newSendLoop(pollInterval, newSendLimits(maxSends, maxSendsPerEndpoint), signal, func(error) { o.Failures++ }, sendSteps{
			next: func(context.Context) (time.Duration, bool, error) {
				o.Looks++
				f := s.find(len(o.Claims), time.Since(begin))
				return f.next - time.Since(begin), f.next >= 0, f.fail
			},
			claim: func(_ context.Context, free, failing int) (due []outbound.DueDelivery, err error) {
				f := s.find(len(o.Claims), time.Since(begin))
				o.Claims = append(o.Claims, claimed{time.Since(begin), free, failing})
				for range min(f.due, free) {
					to := event.EndpointState{Active: true}
					if deliveries++; s.fails != nil && s.fails(deliveries) {
						to.FailingSince = &begin
					}
					due = append(due, outbound.DueDelivery{Endpoint: event.RestoreEndpoint(to)})
				}
				return due, f.fail
			},
			attempt: func(context.Context, outbound.DueDelivery) (again bool, err error) {
				n := attempts.Add(1)
				time.Sleep(s.takes(n))
				return s.again != nil && s.again(n), nil
			},
		}).run(ctx)
		o.Ended = time.Since(begin)
	})
	return o
}

func always(d time.Duration) func(int64) time.Duration {
	return func(int64) time.Duration { return d }
}

func TestTheSendLoopActsWhenThereMayBeSomethingToDo(t *testing.T) {
	const never = -1
	for claim, c := range map[string]struct {
		script
		want observed
	}{
		"nothing is ever due: a look each second and a half": {
			script{lasts: 3100 * ms, find: func(int, time.Duration) found { return found{next: never} }},
			observed{Looks: 3, Ended: 3100 * ms},
		},
		"something is due soon: then": {
			script{lasts: 900 * ms, takes: always(0), find: func(claims int, _ time.Duration) found {
				return found{next: time.Duration(claims+1) * 400 * ms, due: 1}
			}},
			observed{Looks: 5, Claims: []claimed{{400 * ms, maxSends, failingSends}, {800 * ms, maxSends, failingSends}}, Ended: 900 * ms},
		},
		"it is woken: at once": {
			script{lasts: 900 * ms, takes: always(0), signals: []time.Duration{300 * ms, 301 * ms}, find: func(claims int, now time.Duration) found {
				if now < 300*ms || claims > 0 {
					return found{next: never}
				}
				return found{due: 1}
			}},
			observed{Looks: 4, Claims: []claimed{{302 * ms, maxSends, failingSends}}, Ended: 900 * ms},
		},
		"what is due cannot be sent now: soon, and less and less often": {
			script{lasts: 2500 * ms, find: func(int, time.Duration) found { return found{} }},
			observed{Looks: 7, Claims: []claimed{
				{0, maxSends, failingSends}, {25 * ms, maxSends, failingSends}, {75 * ms, maxSends, failingSends}, {175 * ms, maxSends, failingSends},
				{375 * ms, maxSends, failingSends}, {775 * ms, maxSends, failingSends}, {1575 * ms, maxSends, failingSends}}, Ended: 2500 * ms},
		},
		"as much is sent as may be: when one has ended": {
			script{lasts: 900 * ms, takes: func(n int64) time.Duration { return 300*ms + time.Duration(n)*10*ms }, find: func(claims int, _ time.Duration) found {
				if claims == 0 {
					return found{due: maxSends + 100}
				}
				return found{next: never}
			}},
			observed{Looks: 2, Claims: []claimed{{0, maxSends, failingSends}}, Ended: 300*ms + maxSends*10*ms},
		},
		"some maxSends are free: others are sent meanwhile": {
			script{lasts: 700 * ms, takes: always(5000 * ms), find: func(claims int, _ time.Duration) found {
				return found{next: time.Duration(claims) * 300 * ms, due: 30}
			}},
			observed{Looks: 6, Claims: []claimed{{0, 512, 256}, {300 * ms, 482, 256}, {600 * ms, 452, 256}}, Ended: 5600 * ms},
		},
		"those that fail take maxSends of their own, and give them back": {
			script{lasts: 900 * ms, takes: always(500 * ms), fails: func(n int) bool { return n <= 30 }, find: func(claims int, _ time.Duration) found {
				return found{next: time.Duration(claims) * 400 * ms, due: 20}
			}},
			observed{Looks: 6, Claims: []claimed{{0, 512, 256}, {400 * ms, 492, 236}, {800 * ms, 492, 246}}, Ended: 1300 * ms},
		},
		"an attempt is to be made again: a look when that is": {
			script{lasts: 900 * ms, takes: always(100 * ms), again: func(n int64) bool { return n == 1 }, find: func(claims int, now time.Duration) found {
				switch {
				case claims == 0:
					return found{due: 1}
				case now >= 100*ms && claims == 1:
					return found{next: 150 * ms, due: 1}
				}
				return found{next: never}
			}},
			observed{Looks: 5, Claims: []claimed{{0, maxSends, failingSends}, {150 * ms, maxSends, failingSends}}, Ended: 900 * ms},
		},
		"a failure is reported, and tried again": {
			script{lasts: 1500 * ms, find: func(int, time.Duration) found { return found{fail: errors.New("on purpose")} }},
			observed{Looks: 2, Failures: 2, Ended: 1500 * ms},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, runLoop(t, c.script)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The tests of fairness run with lower limits; this holds them to those of production.
func TestTheLimitsLeaveSendsForThoseWhoseEndpointsDoNotHang(t *testing.T) {
	limits := newSendLimits(maxSends, maxSendsPerEndpoint)
	if diff := cmp.Diff(sendLimits{total: 512, reserved: 128, failing: 256, perTenant: 128, perEndpoint: 8}, limits, cmp.AllowUnexported(sendLimits{})); diff != "" {
		t.Error(diff)
	}
	if limits.perTenant <= event.MaxEndpoints {
		t.Errorf("a tenant whose %d endpoints all hang has none of its %d maxSends left", event.MaxEndpoints, limits.perTenant)
	}
	if limits.failing+limits.reserved >= limits.total {
		t.Errorf("%+v leave nothing for those who have messages on the way", limits)
	}
}

func TestTheErrorOfAnAttemptIsReported(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var reported []error
	worse := errors.New("no attempt")
	newSendLoop(pollInterval, newSendLimits(maxSends, maxSendsPerEndpoint), nil, func(err error) { reported = append(reported, err) }, sendSteps{
		next: func(context.Context) (time.Duration, bool, error) { return 0, true, nil },
		claim: func(context.Context, int, int) ([]outbound.DueDelivery, error) {
			return []outbound.DueDelivery{{Endpoint: event.RestoreEndpoint(event.EndpointState{})}}, nil
		},
		attempt: func(context.Context, outbound.DueDelivery) (bool, error) {
			stop()
			return false, worse
		},
	}).run(ctx)
	for _, err := range reported {
		if !errors.Is(err, worse) {
			t.Error(err)
		}
	}
	if len(reported) == 0 {
		t.Error("nothing was reported")
	}
}
