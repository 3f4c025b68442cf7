package noderunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// coded stands for what runs code: it keeps the call, and answers as told.
type coded struct {
	call    outbound.CodeCall
	outcome outbound.CodeOutcome
	err     error
}

func (c *coded) Run(_ context.Context, call outbound.CodeCall) (outbound.CodeOutcome, error) {
	c.call = call
	return c.outcome, c.err
}

func (c *coded) Compile(context.Context, tenant.ID, string) (problem string, at workflow.Place, err error) {
	return "", at, nil
}

func TestRunCode(t *testing.T) {
	call := outbound.NodeCall{
		Tenant: "ten_a", Type: node.Code, Version: "1.0.0", IdempotencyKey: "run_1:a", ReachedAt: noon, Inputs: map[string]any{"input": 1.0},
		Config: map[string]any{"source": "return 1", "timeoutMs": json.Number("250"), "memoryMb": 16.0}, Timeout: 250 * time.Millisecond,
	}
	for name, c := range map[string]struct {
		given coded
		want  outbound.NodeOutcome
	}{
		"its output is that of the node": {
			coded{outcome: outbound.CodeOutcome{Output: json.RawMessage(`{"a":1}`), Log: []string{"x"}}},
			outbound.NodeCompleted{Output: json.RawMessage(`{"a":1}`), Log: []string{"x"}},
		},
		"its failure is that of the attempt": {
			coded{outcome: outbound.CodeOutcome{Failure: &outbound.NodeFailed{Code: "code_crashed", Message: "It ended.", Retryable: true}, Log: []string{"x"}}},
			outbound.NodeFailed{Code: "code_crashed", Message: "It ended.", Retryable: true, Log: []string{"x"}},
		},
		"an output that is none is a failure": {
			coded{outcome: outbound.CodeOutcome{Output: json.RawMessage(`{`)}},
			outbound.NodeFailed{Code: "output_invalid", Message: "The output must be a JSON value, but it is not one JSON value."},
		},
		"where no code can be run another gateway may try": {
			coded{err: domain.Fail(domain.Unavailable, "code_unavailable", "It does not start.")},
			outbound.NodeFailed{Code: "code_unavailable", Message: "It does not start.", Retryable: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := noderunner.New(noderunner.Options{Code: &c.given}).Run(t.Context(), call)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
			want := outbound.CodeCall{
				Tenant: "ten_a", Source: "return 1", Values: map[string]any{"input": 1.0}, Now: noon, Seed: "run_1:a", Timeout: 250 * time.Millisecond, Memory: 16 << 20,
			}
			if diff := cmp.Diff(want, c.given.call); diff != "" {
				t.Error(diff)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := noderunner.New(noderunner.Options{Code: &coded{err: broken}}).Run(t.Context(), call); !errors.Is(err, broken) {
		t.Errorf("another error: %v", err)
	}
	off, err := noderunner.New(noderunner.Options{}).Run(t.Context(), call)
	if f, _ := off.(outbound.NodeFailed); err != nil || f.Code != "code_disabled" || f.Retryable {
		t.Errorf("where it is switched off: %+v, %v", off, err)
	}
}
