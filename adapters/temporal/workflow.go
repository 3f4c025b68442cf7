package temporal

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// What histories name. Workflows that live for long find what older versions wrote: none of these changes.
const (
	workflowName = "run"
	activityName = "moveOn"
	signalName   = "handOver"
)

// assignment says which run is to be moved on, and under which lease. It holds nothing of what is in the run.
type assignment struct {
	Tenant string `json:"tenant"`
	Run    string `json:"run"`
	Lease  int64  `json:"lease"`
}

// outcome says what came of an activity.
type outcome struct {
	Finished bool `json:"finished"`
}

const (
	// heartbeatTimeout is after how long without a sign of life the process of an activity is given up.
	// The database gives its lease up by itself.
	heartbeatTimeout = 15 * time.Second

	// maxActivity is longer than any run is worked on without a pause.
	maxActivity = 365 * 24 * time.Hour

	// lookInterval is how often a workflow looks whether its run was ended by somebody else while it
	// waited. Nobody hands such a run over any more.
	lookInterval = time.Hour

	// maxEvents is how long a history becomes before the workflow goes on with an empty one, far below
	// what the server allows.
	maxEvents = 2000
)

// runWorkflow moves a run on each time that it is handed over, until it has ended.
func runWorkflow(ctx workflow.Context, last assignment) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: maxActivity, HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 5 * time.Second},
	})
	handedOver := workflow.GetSignalChannel(ctx, signalName)
	for {
		if !handedOver.ReceiveAsync(&last) {
			handedOver.ReceiveWithTimeout(ctx, lookInterval, &last)
		}
		for {
			for handedOver.ReceiveAsync(&last) { // the last lease is the only good one
			}
			var came outcome
			if err := workflow.ExecuteActivity(ctx, activityName, last).Get(ctx, &came); err != nil {
				return err
			}
			if handedOver.Len() > 0 {
				continue
			}
			if came.Finished {
				return nil
			}
			break
		}
		if workflow.GetInfo(ctx).GetCurrentHistoryLength() > maxEvents {
			return workflow.NewContinueAsNewError(ctx, workflowName, last)
		}
	}
}
