package execution

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"weak"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// defaultPlans is how many plans are kept.
const defaultPlans = 512

// Plans makes versions ready to run, and keeps those that were asked for last. A plan
// is made anew when the tenant's node types have changed.
type Plans struct {
	work      outbound.UnitOfWork
	directory outbound.Directory
	compiler  run.Compiler
	maxPlans  int   // how many are kept
	maxWeight int64 // how much memory those take at the most
	budgets   outbound.Budgets

	mu         sync.Mutex
	kept       map[planKey]*list.Element
	order      *list.List // of *planned, the last that was asked for first
	keptWeight int64      // weight of those that are ready
}

type planKey struct {
	owner tenant.ID
	run.Source
}

// plannedVersion is a plan that is kept, or is being made.
type plannedVersion struct {
	key      planKey
	registry weak.Pointer[node.Registry] // with which it is made
	ready    chan struct{}               // closed when the rest is there
	plan     *run.Plan
	err      error
	weight   int64 // of the plan, while it is kept
}

// NewPlans keeps at most that many, within a part of the memory for making them; 0 stands
// for 512.
func NewPlans(work outbound.UnitOfWork, directory outbound.Directory, compiler run.Compiler, budgets outbound.Budgets, most int) *Plans {
	if most == 0 {
		most = defaultPlans
	}
	return &Plans{
		work: work, directory: directory, compiler: compiler, budgets: budgets, maxPlans: most, maxWeight: budgets.Planning.Max() / keptPlansPart,
		kept: make(map[planKey]*list.Element), order: list.New(),
	}
}

// storeTimeout is how long making a plan may take.
const storeTimeout = 15 * time.Second

// largePlan is from how much memory on making a plan takes long, in bytes.
const largePlan = 4 << 20

// keptPlansPart is which part of the memory for making plans those take that are kept.
const keptPlansPart = 4

// Of returns the plan of what a run executes. An unknown one is NotFound with the code
// version_not_found; one that is kept may have been deleted since.
func (p *Plans) Of(ctx context.Context, owner tenant.ID, source run.Source) (*run.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for {
		registry, err := p.directory.Registry(ctx, owner)
		if err != nil {
			return nil, err
		}
		one, mine := p.find(planKey{owner, source}, registry)
		if mine {
			p.build(ctx, one, registry)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-one.ready:
		}
		interrupted := errors.Is(one.err, context.Canceled) || errors.Is(one.err, context.DeadlineExceeded)
		if mine || !interrupted { // else whoever made it had to stop, and not the caller
			return one.plan, one.err
		}
	}
}

// find returns the plan, and whether it is the caller's to make.
func (p *Plans) find(key planKey, registry *node.Registry) (one *plannedVersion, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.kept[key]; ok {
		if one = at.Value.(*plannedVersion); one.registry == weak.Make(registry) {
			p.order.MoveToFront(at)
			return one, false
		}
		p.drop(at)
	}
	one = &plannedVersion{key: key, registry: weak.Make(registry), ready: make(chan struct{})}
	p.kept[key] = p.order.PushFront(one)
	if p.order.Len() > p.maxPlans {
		p.drop(p.order.Back())
	}
	return one, true
}

// drop forgets a plan. The caller holds p.mu.
func (p *Plans) drop(at *list.Element) {
	one := p.order.Remove(at).(*plannedVersion)
	p.keptWeight -= one.weight
	one.weight = 0
	delete(p.kept, one.key)
}

// count counts a plan that is ready, and drops those that there is no room for with it.
func (p *Plans) count(one *plannedVersion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, kept := p.kept[one.key]
	if !kept || at.Value != one {
		return // it was dropped meanwhile
	}
	one.weight = one.plan.Weight()
	p.keptWeight += one.weight
	for p.keptWeight > p.maxWeight && p.order.Len() > 0 {
		p.drop(p.order.Back())
	}
}

// build reads the version and makes the plan. What fails is not kept.
func (p *Plans) build(ctx context.Context, one *plannedVersion, registry *node.Registry) {
	defer close(one.ready)
	defer func() {
		if thrown := recover(); thrown != nil {
			one.plan, one.err = nil, inbound.Panicked(thrown)
		}
		if one.err != nil {
			p.forget(one)
		}
	}()
	var graph workflow.Graph
	if graph, one.err = p.graph(ctx, one.key); one.err != nil {
		one.err = fmt.Errorf("version %s of %s: %w", one.key.Version, one.key.owner, one.err)
		return
	}
	demand := run.PlanDemand(graph)
	if one.err = p.budgets.Planning.Reserve(ctx, one.key.owner, demand); one.err != nil {
		return
	}
	defer p.budgets.Planning.Release(one.key.owner, demand)
	if demand > largePlan {
		if one.err = p.budgets.Processors.Reserve(ctx, one.key.owner, 1); one.err != nil {
			return
		}
		defer p.budgets.Processors.Release(one.key.owner, 1)
	}
	one.plan = run.NewBodyPlan(one.key.Version, graph, one.key.Loop, registry, p.compiler)
	p.count(one)
}

func (p *Plans) graph(ctx context.Context, of planKey) (graph workflow.Graph, err error) {
	err = p.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		if of.Snapshot != "" {
			graph, err = st.Snapshots.Get(ctx, of.owner, of.Snapshot)
			return err
		}
		ver, err := st.Versions.Get(ctx, tenant.All(of.owner), of.Version)
		if err == nil {
			graph = ver.Graph()
		}
		return err
	})
	return graph, err
}

func (p *Plans) forget(one *plannedVersion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.kept[one.key]; ok && at.Value == one {
		p.drop(at)
	}
}

// With makes the plan of a graph, which need not be stored, or of one of its bodies, and calls fn
// with it. The plan is not kept: its memory is reserved until fn returns, but while it is aside.
func (p *Plans) With(ctx context.Context, owner tenant.ID, of run.Source, graph workflow.Graph, types *node.Registry, aside Aside, fn func(*run.Plan, Aside) error) error {
	demand := run.PlanDemand(graph)
	if err := p.budgets.Planning.Reserve(ctx, owner, demand); err != nil {
		return err
	}
	held := true
	defer func() {
		if held {
			p.budgets.Planning.Release(owner, demand)
		}
	}()
	plan := run.NewBodyPlan(of.Version, graph, of.Loop, types, p.compiler)
	return fn(plan, func(taken int64, wait func() error) error {
		p.budgets.Planning.Release(owner, demand)
		held = false
		if err := aside(taken+plan.Weight(), wait); err != nil {
			return err
		}
		err := p.budgets.Planning.Reserve(ctx, owner, demand)
		held = err == nil
		return err
	})
}

// Body makes the plan of the body of one of the nodes of a plan. It is not kept.
func (p *Plans) Body(of *run.Plan, loop workflow.NodeID, types *node.Registry) *run.Plan {
	return of.Body(loop, types, p.compiler)
}

// nothingKnown is a registry without node types.
type nothingKnown struct{}

// Lookup finds nothing.
func (nothingKnown) Lookup(node.Type, node.SemVer) (none node.NodeType, ok bool) { return none, false }

// Orphaned is a plan for a run whose version is gone, with which it can be cancelled
// and nothing else.
func (p *Plans) Orphaned(of *run.Run) *run.Plan {
	reached := of.Nodes()
	nodes := make([]workflow.Node, len(reached))
	for i, n := range reached {
		nodes[i] = workflow.Node{ID: n.ID, Parent: of.Source().Loop}
	}
	return run.NewBodyPlan(of.Version(), workflow.RestoreGraph(nodes, nil), of.Source().Loop, nothingKnown{}, p.compiler)
}
