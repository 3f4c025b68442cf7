package temporal

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// What histories name. Workflows that live while the gateways are replaced find what older versions wrote:
// none of these changes, and neither do the members of what is written.
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
	Look   bool   `json:"look,omitempty"` // only find out whether the run is at rest
}

// outcome says what came of an activity.
type outcome struct {
	Rests   bool   `json:"rests,omitempty"`   // there is nothing to do before the run is handed over again
	Refused bool   `json:"refused,omitempty"` // the process does not work, but another one may
	Kept    []byte `json:"kept,omitempty"`    // what the run has done that is not recorded, sealed
}

const (
	// heartbeatTimeout is after how long without a sign of life the process of an activity is given up: as
	// long as its lease lasts.
	heartbeatTimeout = 6 * time.Second

	// maxActivity is longer than any run is worked on without a pause.
	maxActivity = 365 * 24 * time.Hour

	// lookInterval is how often a workflow whose process was given up looks whether its run is at rest by now.
	lookInterval = time.Minute

	// refusedPause is the pause after a process has refused.
	refusedPause = 200 * time.Millisecond

	// maxEvents is how long a history becomes before the workflow goes on with an empty one, far below
	// what the server allows.
	maxEvents = 2000
)

// runWorkflow has a run moved on until it is at rest. Where the process ends that moves it on, the run is
// handed over anew, with another lease, and the next process is given what this one kept.
func runWorkflow(ctx workflow.Context, a assignment, kept []byte) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a run is cancelled in the gateway
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: maxActivity, HeartbeatTimeout: heartbeatTimeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	handedOver := workflow.GetSignalChannel(ctx, signalName)
	for {
		for next := (assignment{}); handedOver.ReceiveAsync(&next); next = (assignment{}) {
			a = a.or(next)
		}
		if workflow.GetInfo(ctx).GetCurrentHistoryLength() > maxEvents {
			return workflow.NewContinueAsNewError(ctx, workflowName, a, kept)
		}
		came, err := begin(ctx, a, kept)
		if err != nil {
			return err
		}
		if kept = came.Kept; came.Rests && handedOver.Len() == 0 {
			return nil
		}
		pause := lookInterval
		if came.Refused {
			pause = refusedPause
		} else {
			a.Look = true // unless there is a new lease
		}
		next := assignment{}
		if ok, _ := handedOver.ReceiveWithTimeout(ctx, pause, &next); ok {
			a = a.or(next)
		}
	}
}

// or is the assignment of two with the later lease: only that one is good.
func (a assignment) or(next assignment) assignment {
	if next.Lease > a.Lease || next.Lease == a.Lease && a.Look {
		return next
	}
	return a
}

// begin has some process move the run on. What is kept outlasts it.
func begin(ctx workflow.Context, a assignment, kept []byte) (came outcome, err error) {
	err = workflow.ExecuteActivity(ctx, activityName, a, kept).Get(ctx, &came)
	if err == nil {
		return came, nil
	}
	came.Kept = kept
	var late *temporal.TimeoutError
	if !errors.As(err, &late) { // the activity itself returns none
		came.Refused = true
		return came, nil
	}
	if late.HasLastHeartbeatDetails() {
		err = late.LastHeartbeatDetails(&came.Kept)
		return came, err
	}
	return came, nil
}
