package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// neighbour measures what a tenant notices of another one that sends a hundred times
// as much: the 99th percentile of its own requests' latency, beside the neighbour
// and alone. The neighbour's limits let everything through.
type neighbour struct{}

func (*neighbour) name() string { return "neighbour" }

// The load of both, in requests a second. The first is about what the limits allow a
// tenant; the second leaves the machine some room, or it would be the load generator
// that is measured.
const (
	quietRate = 15
	busyRate  = 100 * quietRate
)

func (*neighbour) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	var asked [2]question
	for i, name := range []string{"quiet", "busy"} {
		ten, err := st.gateway.newTenant(ctx, "bench "+name)
		if err != nil {
			return nil, err
		}
		if asked[i], err = newTrigger(ten); err != nil {
			return nil, err
		}
	}
	quiet, busy := asked[0], asked[1]
	if _, err := st.steady(ctx, quiet, http.StatusCreated, quietRate, warmUp); err != nil {
		return nil, err
	}
	var alone, beside []time.Duration
	for range o.rounds {
		found, err := st.steady(ctx, quiet, http.StatusCreated, quietRate, o.slice)
		if err != nil {
			return nil, err
		}
		alone = append(alone, found...)
		var noise sync.WaitGroup
		var errBusy error
		noise.Go(func() { _, errBusy = st.steady(ctx, busy, http.StatusCreated, busyRate, o.slice) })
		found, err = st.steady(ctx, quiet, http.StatusCreated, quietRate, o.slice)
		noise.Wait()
		if err := errors.Join(err, errBusy); err != nil {
			return nil, err
		}
		beside = append(beside, found...)
	}
	a, b := milliseconds(percentile(alone, 0.99)), milliseconds(percentile(beside, 0.99))
	return []figure{newFigure("neighbour", "a tenant's p99 beside another one with 100 times its load", "times alone", 1.2, b/a).
		because("POST /triggers at %d/s beside %d/s: %.1f ms against %.1f ms, of %d requests each", quietRate, busyRate, b, a, len(alone))}, nil
}

// steady asks at a fixed rate, expects that status of every answer, and returns each request's latency, from when it was
// due: a gateway that falls behind is not spared by being asked less.
func (st *stage) steady(ctx context.Context, q question, status, perSecond int, slice time.Duration) ([]time.Duration, error) {
	total := int(slice.Seconds() * float64(perSecond))
	took, failed := make([]time.Duration, total), make([]error, total)
	var running sync.WaitGroup
	began := time.Now()
	for i := range total {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		if err := pause(ctx, time.Until(due)); err != nil {
			running.Wait()
			return nil, err
		}
		running.Go(func() {
			_, failed[i] = ask(ctx, st.gateway.baseURL, q, status)
			took[i] = time.Since(due)
		})
	}
	running.Wait()
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return nil, failed[i]
	}
	return took, nil
}

// percentile returns the latency that the given part of all stays within. There is
// at least one.
func percentile(latencies []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(latencies))
	return sorted[min(int(float64(len(sorted))*part), len(sorted)-1)]
}
