package runs

import (
	"cmp"
	"context"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxTestedAttempt is how long the attempt of a test may take: somebody waits for the answer.
const maxTestedAttempt = 90 * time.Second

// maxTest is when a test has ended in any case that made an attempt: some time is for clocks that
// differ, and for recording what came of it.
const maxTest = maxTestedAttempt + 30*time.Second

// endTimeout bounds how long it takes to record that a test was interrupted.
const endTimeout = 5 * time.Second

// TestNode executes one node of a version.
func (s *Service) TestNode(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, of workflow.NodeID,
	c run.NodeTestCall, hold func(size int) bool,
) (done inbound.TestedNode, err error) {
	if err = who.May(tenant.TestNode); err != nil {
		return done, err
	}
	t := &nodeTest{service: s, who: who, idempotency: idempotency, version: id, began: s.clock.Now()}
	if err = t.prepare(ctx, of, c); err != nil {
		return done, err
	}
	defer func() { s.budgets.Growing.Release(who.Tenant(), t.growing) }()
	err = s.computing.DoWithAside(ctx, who.Tenant(), s.computing.Most(), func(aside execution.Aside) error {
		return s.plans.With(ctx, who.Tenant(), t.test.Run.Source(), t.test.Graph, t.types, aside, func(p *run.Plan, aside execution.Aside) error { return t.execute(ctx, p, aside) })
	})
	if err != nil {
		t.interrupted(ctx)
		return done, err
	}
	t.shown.Logs, t.shown.Took = t.test.Run.Logs(t.history), s.clock.Now().Sub(t.began)
	t.shown.OutputOmitted = !hold(t.test.Run.Size() + len(t.shown.Inputs[of].Input))
	return t.shown, t.record(ctx)
}

// nodeTest is one test of a node.
type nodeTest struct {
	service     *Service
	test        run.NodeTest
	who         tenant.Caller
	idempotency domain.IdempotencyKey
	version     workflow.VersionID
	types       *node.Registry
	began       time.Time
	shown       inbound.TestedNode
	history     []run.Entry
	begun       bool  // it is recorded that an attempt is made
	growing     int64 // memory reserved for its answer
}

// prepare reads what is tested, and says what stands against it.
func (t *nodeTest) prepare(ctx context.Context, of workflow.NodeID, c run.NodeTestCall) error {
	subject, err := t.service.subjectOf(ctx, t.who.Scope, t.idempotency, t.version, "", t.began)
	if err != nil {
		return err
	}
	ver := subject.version
	tested, known := ver.Graph().Node(of)
	if !known {
		return domain.Fail(domain.NotFound, "node_not_found", "The workflow version has no such node.")
	}
	if t.types, err = t.service.directory.CurrentRegistry(ctx, t.who.Tenant()); err != nil {
		return err
	}
	t.types = t.types.For(t.who)
	if err = cmp.Or(c.Check(ver.Graph(), of), ver.CheckNodeRunnable(*t.types, of), run.CheckTestable(tested, t.types)); err != nil {
		return err
	}
	started := run.Start{
		Tenant: t.who.Tenant(), SubTenant: ver.SubTenant(), Workflow: ver.Workflow(), Version: t.version, Entity: t.service.random.ID("entity"), Cause: run.CauseManual,
	}
	t.test = run.NewNodeTest(run.ID(t.service.random.ID(run.IDPrefix)), started, ver.Graph(), of, c.With(ver.Pinned()), t.began)
	t.shown = inbound.TestedNode{ShownRun: inbound.ShownRun{Run: t.test.Run}, Node: of}
	return nil
}

// execute lets the node begin, and makes the attempt that it asks for, if any.
func (t *nodeTest) execute(ctx context.Context, p *run.Plan, aside execution.Aside) error {
	defer t.test.Run.Forget()
	step, err := t.advance(p, run.TimeReached{})
	if err != nil {
		return err
	}
	if t.shown.Inputs, _, err = t.test.Run.ShownInputs(p, run.MaxOutput); err != nil || len(step.Execute) == 0 {
		return err
	}
	wanted, err := t.test.Run.Prepare(p, step.Execute[0])
	if err != nil {
		return err
	}
	var fact run.Fact
	err = aside(execution.CallMemory+2*wanted.Weight+int64(t.test.Size()), func() error {
		fact, err = t.attempt(ctx, wanted)
		return err
	})
	if err != nil {
		return err
	}
	_, err = t.advance(p, fact)
	return err
}

// advance lets a fact happen to the node.
func (t *nodeTest) advance(p *run.Plan, fact run.Fact) (run.Step, error) {
	step, err := t.test.Run.Advance(p, run.Event{At: t.service.clock.Now(), Fact: fact, Budget: t.service.computing.StepBudget(0)})
	t.history = append(t.history, step.History...)
	return step, err
}

// attempt makes an attempt. That one with an effect begins is recorded.
func (t *nodeTest) attempt(ctx context.Context, e run.Execute) (run.Fact, error) {
	if !e.Computes {
		if err := t.begin(ctx); err != nil {
			return nil, err
		}
	}
	e.Timeout = min(e.Timeout, maxTestedAttempt)
	bounded, stop := context.WithTimeout(ctx, maxTestedAttempt+time.Second)
	defer stop()
	fact, err := t.service.attempts.Make(bounded, e, func(ctx context.Context, size int64) error {
		err := t.service.budgets.Growing.Reserve(ctx, t.who.Tenant(), size)
		if err == nil {
			t.growing += size
		}
		return err
	})
	if err != nil && bounded.Err() != nil && ctx.Err() == nil { // it has waited for memory
		return run.AttemptFailed{Node: e.Node, Attempt: e.Attempt, Code: run.CodeTimeout, Message: "The test took longer than " + maxTestedAttempt.String() + "."}, nil
	}
	return fact, err
}

// begin records that an attempt is made, and what a repeat gets if the process ends meanwhile.
func (t *nodeTest) begin(ctx context.Context) error {
	err := t.claim(ctx, func(ctx context.Context, st outbound.Stores) error {
		now := t.service.clock.Now()
		return st.Idempotency.Begin(ctx, t.who.Tenant(), t.idempotency, t.whenInterrupted(), now, now.Add(maxTest))
	})
	t.begun = err == nil && t.idempotency.Wanted()
	return err
}

// record records what came of the test.
func (t *nodeTest) record(ctx context.Context) error {
	if t.begun {
		return t.amend(ctx, t.shown)
	}
	return t.claim(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Record(ctx, t.who.Tenant(), t.idempotency, t.shown, t.began)
	})
}

// interrupted records that an attempt did not come to its end. Where that fails repeats are refused
// until the attempt would have ended.
func (t *nodeTest) interrupted(ctx context.Context) {
	if t.begun {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout) // the client may have gone
		defer stop()
		_ = t.amend(ctx, t.whenInterrupted())
	}
}

func (t *nodeTest) whenInterrupted() inbound.TestedNode {
	shown := t.shown
	shown.Run = t.test.Interrupted()
	return shown
}

func (t *nodeTest) claim(ctx context.Context, record func(context.Context, outbound.Stores) error) error {
	if !t.idempotency.Wanted() {
		return nil
	}
	return t.service.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, t.who.Tenant(), t.idempotency, t.began); err != nil {
			return err
		}
		return record(ctx, st)
	})
}

func (t *nodeTest) amend(ctx context.Context, outcome inbound.TestedNode) error {
	return t.service.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Amend(ctx, t.who.Tenant(), t.idempotency, outcome)
	})
}
