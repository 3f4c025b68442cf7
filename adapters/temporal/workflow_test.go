package temporal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// newWorkflowEnv runs the workflow on a virtual clock. Activities answer as move says.
func newWorkflowEnv(t *testing.T, move func(a assignment) (outcome, error)) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
	env.RegisterActivityWithOptions(func(_ context.Context, a assignment) (outcome, error) { return move(a) }, activity.RegisterOptions{Name: activityName})
	return env
}

func leased(number int64) assignment {
	return assignment{Tenant: "tenant_1", Run: "run_1", Lease: number}
}

func TestTheWorkflowBeginsWithEachLeaseUntilTheRunHasEnded(t *testing.T) {
	t.Parallel()
	var begun []int64
	env := newWorkflowEnv(t, func(a assignment) (outcome, error) {
		begun = append(begun, a.Lease)
		return outcome{Finished: a.Lease == 4}, nil
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(1)) }, 0)
	env.RegisterDelayedCallback(func() { // two while it waits
		env.SignalWorkflow(signalName, leased(2))
		env.SignalWorkflow(signalName, leased(3))
	}, time.Minute)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(4)) }, 2*time.Minute)
	env.ExecuteWorkflow(workflowName, leased(1))
	if err := env.GetWorkflowError(); err != nil || !env.IsWorkflowCompleted() || !slices.Equal(begun, []int64{1, 2, 3, 4}) {
		t.Errorf("begun with %v: %v", begun, err)
	}
}

func TestTheWorkflowEndsWhenItsRunWasEndedByOthers(t *testing.T) {
	t.Parallel()
	looked := 0
	env := newWorkflowEnv(t, func(assignment) (outcome, error) {
		looked++
		return outcome{Finished: looked == 3}, nil
	})
	began := env.Now()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(1)) }, 0)
	env.ExecuteWorkflow(workflowName, leased(1))
	if err := env.GetWorkflowError(); err != nil || looked != 3 || env.Now().Sub(began) < 2*lookInterval {
		t.Errorf("%d looks in %s: %v", looked, env.Now().Sub(began), err)
	}
}

// A run that has failed may be retried before its workflow knows that it has ended.
func TestARunThatIsHandedOverWhileItEndsIsBegunWithOnceMore(t *testing.T) {
	t.Parallel()
	var begun []int64
	env := newWorkflowEnv(t, func(a assignment) (outcome, error) {
		begun = append(begun, a.Lease)
		return outcome{Finished: true}, nil
	})
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		if len(begun) == 0 {
			env.SignalWorkflow(signalName, leased(2))
		}
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(1)) }, 0)
	env.ExecuteWorkflow(workflowName, leased(1))
	if err := env.GetWorkflowError(); err != nil || !slices.Equal(begun, []int64{1, 2}) {
		t.Errorf("begun with %v: %v", begun, err)
	}
}

func TestARunIsBegunWithElsewhereWhereAProcessRefuses(t *testing.T) {
	t.Parallel()
	tries := 0
	env := newWorkflowEnv(t, func(assignment) (outcome, error) {
		if tries++; tries < 5 {
			return outcome{}, errors.New("the worker of this process does not work")
		}
		return outcome{Finished: true}, nil
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(1)) }, 0)
	env.ExecuteWorkflow(workflowName, leased(1))
	if err := env.GetWorkflowError(); err != nil || tries != 5 {
		t.Errorf("%d tries: %v", tries, err)
	}
}

func TestALongHistoryIsLeftBehind(t *testing.T) {
	t.Parallel()
	env := newWorkflowEnv(t, func(assignment) (outcome, error) { return outcome{}, nil })
	env.SetCurrentHistoryLength(maxEvents + 1)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(7)) }, 0)
	env.ExecuteWorkflow(workflowName, leased(1))
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) || next.WorkflowType.Name != workflowName {
		t.Errorf("it ends with %v", err)
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Cert: "no PEM secret", Key: "secret"}, {CA: "no PEM"}} {
		if err := o.Check(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := (Options{APIKey: "k"}).Check(); err != nil {
		t.Error(err)
	}
}
