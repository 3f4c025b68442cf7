package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// admission measures what the gateway does around a request: finding the key and its
// tenant, counting against the limits, the log line. It compares the processor time
// that the gateway and a bare server take for a request with the same answer. What
// the registry itself costs is counted in, so the figure is an upper bound.
//
// Processor time, not a rate, because the load generator shares the processors.
type admission struct{ bare *bareServer }

func (*admission) name() string { return "admission" }

const admissionConnections = 64

func (a *admission) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	ten, err := st.gateway.newTenant(ctx, "bench admission")
	if err != nil {
		return nil, err
	}
	q := question{Method: http.MethodGet, Path: "/v1/gateway/custom-nodes/registry", APIKeys: []string{ten.SecretKey}}
	for range admissionTenants - 1 {
		if ten, err = st.gateway.newTenant(ctx, "bench admission"); err != nil {
			return nil, err
		}
		q.APIKeys = append(q.APIKeys, ten.SecretKey)
	}
	body, err := ask(ctx, st.gateway.baseURL, q, http.StatusOK)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(st.dir, "admission.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, err
	}
	if a.bare, err = startBare(ctx, bareCommand, q.Path, file); err != nil {
		return nil, err
	}
	defer a.bare.stop()
	var added, bare, ours []float64
	for i := range o.rounds + 1 {
		slice := o.slice
		if i == 0 {
			slice = warmUp
		}
		b, err := st.processorTime(ctx, a.bare.cmd.Process.Pid, a.bare.baseURL, q, slice)
		if err != nil {
			return nil, fmt.Errorf("the baseline: %w", err)
		}
		g, err := st.processorTime(ctx, st.gateway.cmd.Process.Pid, st.gateway.baseURL, q, slice)
		if err != nil {
			return nil, fmt.Errorf("the gateway: %w", err)
		}
		if i > 0 {
			bare, ours, added = append(bare, b), append(ours, g), append(added, g-b)
		}
	}
	return []figure{newFigure("admission", "authentication, limits, log (and the registry's look-up), added to a bare request", "µs", 5, added...).
		because("processor time a request: %.1f µs against %.1f µs", newFigure("", "", "", 0, ours...).Value, newFigure("", "", "", 0, bare...).Value)}, nil
}

// admissionTenants share the load, so that it stays below the limit of each.
const admissionTenants = 8

// processorTime makes load and returns what a process took of the processors for each
// request, in microseconds.
func (st *stage) processorTime(ctx context.Context, pid int, baseURL string, q question, slice time.Duration) (float64, error) {
	before, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	found, err := st.makeLoad(ctx, baseURL, q, admissionConnections, slice)
	if err != nil {
		return 0, err
	}
	after, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	return float64((after - before).Microseconds()) / float64(found.requests), nil
}
