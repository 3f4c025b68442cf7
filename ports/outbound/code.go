package outbound

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// CodeRunner runs what tenants wrote in JavaScript. It may be hostile: it runs, and is even
// read, where it reaches nothing of the gateway, its machine or another tenant.
type CodeRunner interface {
	// Run runs code once, within its time and its memory. Whatever the code does is an
	// outcome, never an error. An error is an Unavailable with the code code_unavailable
	// where no code can be run here, or means that ctx ended while it waited for its turn or
	// ran, and wraps its cause. When ctx ends, so does the code, at once.
	//
	// The same call gives the same outcome, except one that ends by time: code sees no
	// clock but CodeCall.Now and no chance but CodeCall.Seed.
	Run(ctx context.Context, call CodeCall) (CodeOutcome, error)

	// Compile says what is wrong with a source that cannot be run, beginning "line 3, column
	// 14: ", and where in the source that is; empty where nothing is. The error is as that of
	// Run.
	Compile(ctx context.Context, owner tenant.ID, source string) (problem string, at workflow.Place, err error)
}

// CodeCall is one run of code.
type CodeCall struct {
	Tenant tenant.ID
	Source string         // the body of a function
	Values map[string]any // JSON trees, with a json.RawMessage for any part, by the names under which the code sees them
	Now    time.Time      // what now() gives
	Seed   string         // of its random numbers

	Timeout time.Duration // how long it may compute; it does not count waiting for its turn
	Memory  int64         // what it may take, in bytes

	// ReserveMemory reserves memory for a large output before it is handed over, as in
	// [NodeCall].
	ReserveMemory func(ctx context.Context, size int64) error
}

// CodeOutcome is what became of code.
type CodeOutcome struct {
	// Output is one JSON value; nil where it failed.
	Output json.RawMessage

	// Failure says why it failed; nil where it did not. Its code is code_failed where the
	// code threw something or gave no JSON value, code_timeout, code_out_of_memory,
	// output_too_large, or code_crashed, retryable, where the process that ran it ended.
	Failure *NodeFailed

	Log []string // what it wrote to the console, as much as [run.Log] keeps

	Took time.Duration // how long it ran, which differs each time
}
