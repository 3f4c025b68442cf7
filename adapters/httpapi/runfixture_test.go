package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/application/execution"
	runfixture "github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// runKey is what the secrets of the tests' runs are derived from.
var runKey = run.Key{1, 2, 3}

// timed is a unit of work in which the database's clock is that of the test.
type timed struct {
	outbound.UnitOfWork
	clock *portstest.ManualClock
}

// Do hands the queue over with the other clock.
func (w timed) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Runs.Queue = timedQueue{st.Runs.Queue, w.clock}
		return fn(ctx, st)
	})
}

// Read is Do for what changes nothing.
func (w timed) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.UnitOfWork.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Runs.Queue = timedQueue{st.Runs.Queue, w.clock}
		return fn(ctx, st)
	})
}

type timedQueue struct {
	outbound.RunQueue
	clock *portstest.ManualClock
}

// Now reads the clock of the test.
func (q timedQueue) Now(context.Context) (time.Time, error) { return q.clock.Now(), nil }

// fakeRunner answers the attempts of nodes as the test says.
type fakeRunner func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error)

// Run makes an attempt.
func (w fakeRunner) Run(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	return w(ctx, call)
}

// Health is not asked for.
func (fakeRunner) Health(context.Context, outbound.HealthCheck) (outbound.NodeHealth, error) {
	return outbound.NodeHealth{Healthy: true}, nil
}

// testedNodes answers tests of nodes: a URL that says so is down.
var testedNodes = fakeRunner(func(_ context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	if url, _ := call.Config["url"].(string); strings.Contains(url, "down") {
		return outbound.NodeFailed{Code: "http_503", Message: "example.com answered 503 Service Unavailable.", Retryable: true}, nil
	}
	return outbound.NodeCompleted{Output: map[string]any{"status": json.Number("200"), "headers": map[string]any{}, "body": nil}, Log: []string{"sent"}}, nil
})

// works lets a worker move runs on until the test ends, or stop is called.
func (g *gateway) startWorker(w fakeRunner) (stop func()) {
	g.Helper()
	known := directory.New(g.store)
	known.SetReliable(true)
	runner := worker.New(g.store, w, directory.NewEndpoints(known, g.clock), expression.Compiler{}, known, g.signals, g.random, runKey,
		budget.Divide(1<<40, 2).OfRuns(), execution.NewAllowance(g.clock, nil), worker.Options{Name: "test", Drain: time.Second}).WithEngine(g.engine)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { runfixture.Serve(ctx, runner, g.engine, func(err error) { g.Error(err) }) })
	stop = sync.OnceFunc(func() {
		cancel()
		done.Wait()
	})
	g.Cleanup(stop)
	return stop
}

// graph reads nodes of "id type configuration" and edges of "a -> b".
func graph(nodes []string, edges ...string) workflow.Graph {
	var all []workflow.Node
	for _, line := range nodes {
		part := strings.SplitN(line, " ", 3)
		config := "{}"
		if len(part) == 3 {
			config = part[2]
		}
		all = append(all, workflow.Node{
			ID: workflow.NodeID(part[0]), Type: part[1], Version: "1.0.0", Name: part[0], Config: domain.RestoreDocument(config),
			InputSchema: domain.RestoreDocument("{}"), OutputSchema: domain.RestoreDocument("{}"),
		})
	}
	var between []workflow.Edge
	for i, line := range edges {
		source, target, _ := strings.Cut(line, " -> ")
		between = append(between, workflow.Edge{
			ID: workflow.EdgeID(fmt.Sprintf("edge_%026d", i+1)), SourceNodeID: workflow.NodeID(source), TargetNodeID: workflow.NodeID(target),
		})
	}
	return workflow.RestoreGraph(all, between)
}

// named is an identifier of the fixture that no other record has.
func (e fixture) named(prefix string, letter byte) string {
	return prefix + "_" + strings.TrimPrefix(string(e.id), "tenant_")[1:] + string(letter)
}

// activate stores a version of the fixture's workflow that is the active one, and a
// trigger of it that is called, or fires by the event order.paid. It names them in the
// fixture.
func (g *gateway) activate(e fixture, of workflow.Graph, config string) (*workflow.Version, *trigger.Trigger) {
	g.Helper()
	before := noon.Add(-2 * time.Hour)
	var ver *workflow.Version
	var trg *trigger.Trigger
	g.write(func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, tenant.All(e.id), workflow.ID(e.ids["workflows"]))
		if err != nil {
			return err
		}
		number, err := st.Workflows.NextVersion(ctx, tenant.All(e.id), wf.ID())
		if err != nil {
			return err
		}
		ver = workflow.RestoreVersion(workflow.VersionState{
			ID: workflow.VersionID(e.named("wfv", 'a')), Workflow: wf.ID(), Tenant: e.id, SubTenant: wf.SubTenant(), Number: number,
			Active: true, PublishedAt: &before, CreatedAt: before, Revision: 1, Graph: of,
		})
		trg = trigger.Restore(trigger.State{
			ID: trigger.ID(e.named("trg", 'a')), Tenant: e.id, SubTenant: wf.SubTenant(), Version: ver.ID(), Name: "Paid", Type: trigger.Webhook, Active: true,
			Config: trigger.RestoreConfig(config), ActivatedAt: before, CreatedAt: before, UpdatedAt: before, Revision: 1,
		})
		if err := st.Versions.Insert(ctx, ver); err != nil {
			return err
		}
		return st.Triggers.Insert(ctx, trg)
	})
	e.ids["activeVersion"], e.ids["listening"] = string(ver.ID()), string(trg.ID())
	g.hook(e, trg)
	return ver, trg
}

// onPaid is the configuration of a trigger that fires by an event.
const onPaid = `{"webhookConfig":{"event":"order.paid"}}`

// addRuns gives the fixture an active version whose runs ask a person, wait for an event
// and call out, and four runs of it: runs (the one that waits for the person), waiting
// (for the event), failed and completed. nightly is a trigger of type schedule. approval and delivery are the resume tokens of
// the first two.
func (g *gateway) addRuns(e fixture) {
	g.Helper()
	ver, trg := g.activate(e, graph([]string{
		`approve input {"prompt":"Ship it?","inputType":"boolean","timeoutMs":86400000}`,
		`shipped waitForEvent {"event":"order.shipped"}`,
		`notify httpRequest {"method":"POST","url":"https://example.com/notices"}`,
	}, "approve -> shipped", "shipped -> notify"), onPaid)
	nightly := trg.State()
	nightly.ID, nightly.Name, nightly.Type = trigger.ID(e.named("trg", 's')), "Each night", trigger.Scheduled
	nightly.Config = trigger.RestoreConfig(`{"scheduleConfig":{"cron":"30 2 * * *"}}`)
	g.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Triggers.Insert(ctx, trigger.Restore(nightly))
	})
	e.ids["nightly"] = string(nightly.ID)
	g.addJob(e)
	plan := run.NewPlan(ver.ID(), ver.Graph(), node.RegistryFor(e.id, tenant.English, nil, nil), expression.Compiler{})
	answered := func(nodes ...workflow.NodeID) (all []factOf) {
		all = append(all, happens(run.Started{}))
		for _, id := range nodes {
			all = append(all, given(id))
		}
		return all
	}
	for i, made := range []struct {
		name   string
		letter byte
		facts  []factOf
		token  string // under which the resume token is named
	}{
		{"completed", 'c', append(answered("approve", "shipped"), happens(run.AttemptCompleted{Node: "notify", Attempt: 1, Output: map[string]any{"status": json.Number("204")}})), ""},
		{"failed", 'f', append(answered("approve", "shipped"), happens(run.AttemptFailed{Node: "notify", Attempt: 1, Code: "http_404", Message: "example.com answered 404 Not Found."})), ""},
		{"waiting", 'w', answered("approve"), "delivery"},
		{"runs", 'p', answered(), "approval"},
	} {
		at := noon.Add(time.Duration(i-60) * time.Minute)
		entity := fmt.Sprintf("order-%d of %s", i+1, e.id)
		payload, _ := json.Marshal(map[string]any{"amount": 1200, "note": e.marker()}) // strings and numbers only
		r := run.New(run.ID(e.named("run", made.letter)), run.Start{
			Tenant: e.id, SubTenant: ver.SubTenant(), Workflow: ver.Workflow(), Version: ver.ID(), Trigger: trg,
			Entity: entity, DedupeKey: "payment-" + made.name, Cause: run.CauseWebhook, Payload: payload,
		}, at)
		g.move(r, plan, at.Add(4*time.Millisecond), made.facts)
		e.ids[made.name], e.ids["entity of "+made.name] = string(r.ID()), entity
		for _, n := range r.Nodes() {
			if n.Pause != nil && n.ID == "approve" && n.Status == run.NodeWaiting {
				e.ids["pauses"] = string(run.NewPauseID(r.ID(), n.Pause.Seq))
			}
		}
		for _, token := range r.Tokens(runKey.Secret(r.ID())) {
			e.ids[made.token] = token
		}
	}
}

// addChild has the run that completed start another one.
func (g *gateway) addChild(e fixture) {
	g.Helper()
	at := noon.Add(-time.Hour)
	st := run.New(run.ID(e.named("run", 'd')), run.Start{
		Tenant: e.id, Workflow: workflow.ID(e.ids["workflows"]), Version: workflow.VersionID(e.ids["activeVersion"]), SubTenant: tenant.SubTenantID(e.ids["subTenantId"]),
		Entity: e.ids["entity of completed"], Cause: run.CauseCall, Payload: json.RawMessage(`{"amount":7}`),
	}, at).State()
	st.Parent, st.ParentNode, st.ParentWaits, st.Depth = run.ID(e.ids["completed"]), "notify", true, 1
	g.write(func(ctx context.Context, stores outbound.Stores) error {
		_, err := stores.Runs.Runs.Start(ctx, run.Restore(st))
		return err
	})
	e.ids["child"] = string(st.ID)
}

// addJob gives the fixture a job that goes on.
func (g *gateway) addJob(e fixture) {
	g.Helper()
	j, err := job.New(job.ID(e.named("job", 'j')), tenant.All(e.id), job.Draft{Action: job.Cancel, Filter: &run.Filter{Entity: new(e.marker())}}, noon.Add(-time.Minute))
	if err != nil {
		g.Fatal(err)
	}
	if err := j.Begin(3, noon.Add(-time.Minute)); err != nil {
		g.Fatal(err)
	}
	g.write(func(ctx context.Context, st outbound.Stores) error {
		if err := st.Runs.Jobs.Insert(ctx, j); err != nil {
			return err
		}
		return st.Runs.Jobs.Update(ctx, j)
	})
	e.ids["jobs"] = string(j.ID())
}

// factOf is something that happens to a run, given the tokens of the nodes that wait.
type factOf func(tokens map[workflow.NodeID]string) run.Fact

func happens(fact run.Fact) factOf {
	return func(map[workflow.NodeID]string) run.Fact { return fact }
}

// given resumes a node with true.
func given(id workflow.NodeID) factOf {
	return func(tokens map[workflow.NodeID]string) run.Fact {
		return run.Resumed{Token: tokens[id], Input: json.RawMessage("true")}
	}
}

// move starts a run and lets things happen to it, one a second.
func (g *gateway) move(r *run.Run, plan *run.Plan, at time.Time, facts []factOf) {
	g.Helper()
	g.write(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, r)
		return err
	})
	for i, fact := range facts {
		from, secret := r.Seq(), runKey.Secret(r.ID())
		step, err := r.Advance(plan, run.Event{At: at.Add(time.Duration(i) * time.Second), Secret: secret, Fact: fact(r.Tokens(secret))})
		if err != nil || step.Refused != nil {
			g.Fatalf("run %s refuses what happens to it: %v, %v", r.ID(), err, step.Refused)
		}
		g.write(func(ctx context.Context, st outbound.Stores) error {
			return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: step.History})
		})
	}
}
