package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// newWorkflowEnv runs the workflow on a virtual clock. Activities answer as move says.
func newWorkflowEnv(t *testing.T, move func(a assignment, kept []byte) (outcome, error)) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
	env.RegisterActivityWithOptions(func(_ context.Context, a assignment, kept []byte) (outcome, error) { return move(a, kept) }, activity.RegisterOptions{Name: activityName})
	return env
}

func leased(number int64) assignment {
	return assignment{Tenant: "tenant_1", Run: "run_1", Lease: number}
}

// ended fails the test unless the workflow has ended well.
func ended(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	if err := env.GetWorkflowError(); err != nil || !env.IsWorkflowCompleted() {
		t.Errorf("completed: %t: %v", env.IsWorkflowCompleted(), err)
	}
}

func TestAWorkflowEndsWhenItsRunRests(t *testing.T) {
	t.Parallel()
	var begun []assignment
	env := newWorkflowEnv(t, func(a assignment, kept []byte) (outcome, error) {
		begun = append(begun, a)
		return outcome{Rests: true}, nil
	})
	env.ExecuteWorkflow(workflowName, leased(1), []byte(nil))
	if ended(t, env); !slices.Equal(begun, []assignment{leased(1)}) {
		t.Errorf("begun with %v", begun)
	}
}

// A process ends while it works on a run, and what it kept is given to the one that leases the run after it.
func TestWhatAProcessKeptIsGivenToTheNextOne(t *testing.T) {
	t.Parallel()
	var begun []string
	env := newWorkflowEnv(t, func(a assignment, kept []byte) (outcome, error) {
		begun = append(begun, fmt.Sprintf("%d %t %s", a.Lease, a.Look, kept))
		if a.Lease == 1 && !a.Look {
			return outcome{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil, []byte("kept"))
		}
		return outcome{Rests: a.Lease == 2, Kept: kept}, nil
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(2)) }, lookInterval+time.Second)
	env.ExecuteWorkflow(workflowName, leased(1), []byte(nil))
	if want := []string{"1 false ", "1 true kept", "2 false kept"}; !slices.Equal(begun, want) {
		t.Errorf("begun with %q instead of %q", begun, want)
	}
	ended(t, env)
}

// A process that was given up may go on under its lease, and nobody hands the run over any more.
func TestAWorkflowEndsWhenItsRunRestsWithoutIt(t *testing.T) {
	t.Parallel()
	looked := 0
	env := newWorkflowEnv(t, func(a assignment, _ []byte) (outcome, error) {
		if !a.Look {
			return outcome{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil)
		}
		looked++
		return outcome{Rests: looked == 3}, nil
	})
	began := env.Now()
	env.ExecuteWorkflow(workflowName, leased(1), []byte(nil))
	if ended(t, env); looked != 3 || env.Now().Sub(began) < 3*lookInterval {
		t.Errorf("%d looks in %s", looked, env.Now().Sub(began))
	}
}

// A run that has failed may be retried before its workflow knows that it has ended.
func TestARunThatIsHandedOverWhileItEndsIsBegunWithOnceMore(t *testing.T) {
	t.Parallel()
	var begun []int64
	env := newWorkflowEnv(t, func(a assignment, _ []byte) (outcome, error) {
		begun = append(begun, a.Lease)
		return outcome{Rests: true}, nil
	})
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		if len(begun) == 0 {
			env.SignalWorkflow(signalName, leased(2))
		}
	})
	env.ExecuteWorkflow(workflowName, leased(1), []byte(nil))
	if ended(t, env); !slices.Equal(begun, []int64{1, 2}) {
		t.Errorf("begun with %v", begun)
	}
}

func TestARunIsBegunWithElsewhereWhereAProcessRefuses(t *testing.T) {
	t.Parallel()
	tries := 0
	env := newWorkflowEnv(t, func(a assignment, kept []byte) (outcome, error) {
		if tries++; a.Look || string(kept) != "kept" {
			t.Errorf("begun with %v, %q", a, kept)
		}
		if tries < 5 {
			return outcome{}, errors.New("the worker of this process does not work")
		}
		return outcome{Rests: true}, nil
	})
	env.ExecuteWorkflow(workflowName, leased(1), []byte("kept"))
	if ended(t, env); tries != 5 {
		t.Errorf("%d tries", tries)
	}
}

// Somebody asks in Temporal for the workflow to be cancelled. Runs are cancelled in the gateway.
func TestAWorkflowGoesOnThoughItIsToBeCancelled(t *testing.T) {
	t.Parallel()
	begun := 0
	env := newWorkflowEnv(t, func(a assignment, _ []byte) (outcome, error) {
		begun++
		return outcome{Rests: a.Lease == 2}, nil
	})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, leased(2)) }, 2*time.Second)
	env.ExecuteWorkflow(workflowName, leased(1), []byte(nil))
	if ended(t, env); begun != 2 {
		t.Errorf("begun %d times", begun)
	}
}

// A process that stood still hands a run over that another one has leased meanwhile.
func TestAnOlderLeaseIsNotBegunWith(t *testing.T) {
	t.Parallel()
	var begun []int64
	env := newWorkflowEnv(t, func(a assignment, _ []byte) (outcome, error) {
		begun = append(begun, a.Lease)
		return outcome{Rests: a.Lease == 3}, nil
	})
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(signalName, leased(3))
		env.SignalWorkflow(signalName, leased(1))
	}, time.Second)
	env.ExecuteWorkflow(workflowName, leased(2), []byte(nil))
	if ended(t, env); slices.Contains(begun, 1) || !slices.Contains(begun, 3) || len(begun) > 3 {
		t.Errorf("begun with %v", begun)
	}
}

func TestALongHistoryIsLeftBehind(t *testing.T) {
	t.Parallel()
	env := newWorkflowEnv(t, func(assignment, []byte) (outcome, error) { return outcome{}, nil })
	env.SetCurrentHistoryLength(maxEvents + 1)
	env.ExecuteWorkflow(workflowName, leased(1), []byte("kept"))
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) || next.WorkflowType.Name != workflowName {
		t.Fatalf("it ends with %v", err)
	}
	var a assignment
	var kept []byte
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &a, &kept); err != nil || a != leased(1) || string(kept) != "kept" {
		t.Errorf("it goes on with %v, %q, %v", a, kept, err)
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

// closed is a cipher that opens nothing.
type closed struct {
	outbound.Cipher
	reason error
}

// Open fails.
func (c closed) Open(context.Context, outbound.Keysets, []byte, outbound.SecretField) ([]byte, error) {
	return nil, c.reason
}

// While the database is away nobody knows the keys. What was kept is left for later then, and given up only where no
// key opens it.
func TestWhatWasKeptIsGivenUpOnlyWhereNoKeyOpensIt(t *testing.T) {
	t.Parallel()
	for code, givenUp := range map[string]bool{"secret_unreadable": true, "database_unavailable": false} {
		e := &Engine{cipher: closed{reason: domain.Fail(domain.Unavailable, code, "No.")}}
		if plain, err := e.open(t.Context(), leased(1), []byte("sealed")); plain != nil || (err == nil) != givenUp {
			t.Errorf("%s: %q, %v", code, plain, err)
		}
	}
}
