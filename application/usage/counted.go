package usage

import (
	"context"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Admission counts the requests that another one admits.
type Admission struct {
	inbound.Admission
	tally *usage.Tally
}

// NewAdmission wraps an admission.
func NewAdmission(of inbound.Admission, tally *usage.Tally) Admission { return Admission{of, tally} }

// Admit counts a request of whoever is recognized.
func (a Admission) Admit(ctx context.Context, with inbound.Credentials, op tenant.Operation) (inbound.Admitted, error) {
	in, err := a.Admission.Admit(ctx, with, op)
	if owner := in.Caller.Tenant(); owner != "" {
		c := usage.Counts{Requests: 1}
		if err != nil {
			c.RequestsRefused = 1
		}
		a.tally.Count(owner, c)
	}
	return in, err
}

// CodeRunner counts for how long code runs.
type CodeRunner struct {
	outbound.CodeRunner
	tally *usage.Tally
}

// NewCodeRunner wraps a runner of code.
func NewCodeRunner(of outbound.CodeRunner, tally *usage.Tally) CodeRunner {
	return CodeRunner{CodeRunner: of, tally: tally}
}

// Run counts a run of code.
func (r CodeRunner) Run(ctx context.Context, call outbound.CodeCall) (outbound.CodeOutcome, error) {
	o, err := r.CodeRunner.Run(ctx, call)
	r.tally.Count(call.Tenant, usage.Counts{CodeMicros: o.Took.Microseconds()})
	return o, err
}
