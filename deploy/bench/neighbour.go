package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// neighbour measures what a tenant notices of another one that sends a hundred times
// as much: the 99th percentile of its own requests' latency, at the same time as the
// neighbour and alone. The neighbour's limits let everything through.
type neighbour struct{}

func (neighbour) name() string { return "neighbour" }

// The load of both, in requests a second. The first is about what the limits allow a
// tenant; the second leaves the machine some room, or it would be the load generator
// that is measured.
const (
	quietRate = 15
	busyRate  = 100 * quietRate
)

// neighbourRequests are enough for the 99th percentile not to be one of the longest few.
const neighbourRequests = 2000

func (neighbour) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	var asked [2]loadRequest
	for i, name := range []string{"quiet", "busy"} {
		ten, err := e.newTenant(ctx, "bench "+name)
		if err != nil {
			return nil, err
		}
		if asked[i], err = newTrigger(ten); err != nil {
			return nil, err
		}
	}
	quiet, busy := asked[0], asked[1]
	if _, err := e.fixedRate(ctx, quiet, quietRate, warmUp); err != nil {
		return nil, err
	}
	var alone, contended []time.Duration
	for len(alone) < neighbourRequests {
		found, err := e.fixedRate(ctx, quiet, quietRate, o.period)
		if err != nil {
			return nil, err
		}
		alone = append(alone, found...)
		var noise sync.WaitGroup
		var errBusy error
		noise.Go(func() { _, errBusy = e.fixedRate(ctx, busy, busyRate, o.period) })
		found, err = e.fixedRate(ctx, quiet, quietRate, o.period)
		noise.Wait()
		if err := errors.Join(err, errBusy); err != nil {
			return nil, err
		}
		contended = append(contended, found...)
	}
	a, b := milliseconds(percentile(alone, 0.99)), milliseconds(percentile(contended, 0.99))
	return []figure{newFigure("neighbour", "a tenant's p99 next to another one with 100 times its load", "times alone", 1.5, b/a).
		withDetail("POST /triggers at %d/s next to %d/s: %.1f ms against %.1f ms, of %d requests each", quietRate, busyRate, b, a, len(alone))}, nil
}

// fixedRate sends requests at a fixed rate and returns the latency of each from when it
// was due, so that a gateway which falls behind is not sent less.
func (e *env) fixedRate(ctx context.Context, q loadRequest, perSecond int, period time.Duration) ([]time.Duration, error) {
	total := int(period.Seconds() * float64(perSecond))
	took, failed := make([]time.Duration, total), make([]error, total)
	var running sync.WaitGroup
	began := time.Now()
	for i := range total {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		if !harness.Sleep(ctx, time.Until(due)) {
			running.Wait()
			return nil, ctx.Err()
		}
		running.Go(func() {
			_, failed[i] = q.send(ctx, e.gateway.URL)
			took[i] = time.Since(due)
		})
	}
	running.Wait()
	return took, cmp.Or(failed...)
}

// percentile returns the latency that the given part of all stays within. There is
// at least one.
func percentile(latencies []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(latencies))
	return sorted[min(int(float64(len(sorted))*part), len(sorted)-1)]
}
