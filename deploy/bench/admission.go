package main

import (
	"context"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// admission measures what the gateway does around a request: finding the key and its
// tenant, counting against the limits, the log line. It compares the processor time
// that the gateway and a bare server take for a request with the same answer. What
// the registry itself costs is counted in, so the figure is an upper bound.
//
// Processor time, not a rate, because the load generator shares the processors.
type admission struct{}

func (admission) name() string { return "admission" }

const admissionConnections = 64

func (admission) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	ten, err := e.newTenant(ctx, "bench admission")
	if err != nil {
		return nil, err
	}
	q := loadRequest{Method: http.MethodGet, Path: "/custom-nodes/registry", APIKeys: []string{ten.SecretKey}}
	for range admissionTenants - 1 {
		if ten, err = e.newTenant(ctx, "bench admission"); err != nil {
			return nil, err
		}
		q.APIKeys = append(q.APIKeys, ten.SecretKey)
	}
	bare, err := e.startLike(ctx, "admission", q)
	if err != nil {
		return nil, err
	}
	defer bare.Stop()
	base, ours, err := o.inTurns(func(period time.Duration) (float64, error) {
		return e.processorTime(ctx, bare.PID(), bare.url, q, period)
	}, func(period time.Duration) (float64, error) {
		return e.processorTime(ctx, e.gateway.Process().PID(), e.gateway.URL, q, period)
	})
	if err != nil {
		return nil, err
	}
	added := make([]float64, len(ours))
	for i := range ours {
		added[i] = ours[i] - base[i]
	}
	return []figure{newFigure("admission", "authentication, limits, log (and the registry's look-up), added to a bare request", "µs", 5, added...).
		withDetail("processor time a request: %.1f µs against %.1f µs", medianOf(ours), medianOf(base))}, nil
}

// admissionTenants share the load, so that it stays below the limit of each.
const admissionTenants = 8

// processorTime makes load and returns what a process took of the processors for each
// request, in microseconds.
func (e *env) processorTime(ctx context.Context, pid int, baseURL string, q loadRequest, period time.Duration) (float64, error) {
	before, err := harness.ProcessorTime(pid)
	if err != nil {
		return 0, err
	}
	found, err := e.runWrk(ctx, baseURL, q, admissionConnections, period)
	if err != nil {
		return 0, err
	}
	after, err := harness.ProcessorTime(pid)
	if err != nil {
		return 0, err
	}
	return float64((after - before).Microseconds()) / float64(found.requests), nil
}
