package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// MaxItems is for how many items a node can run its body.
const MaxItems = 10_000

// LoopStart is a node that begins to run its body for each item, or goes on after its run was
// retried.
type LoopStart struct {
	Node        workflow.NodeID
	Again       bool              // with the items that it has; nothing else is set then
	Items       []json.RawMessage // at least one
	Outer       json.RawMessage   // see [Origin]
	Concurrency int               // how many may be under way
	FailFast    bool              // none begins once one has failed
}

// itemRow is about what keeping an item takes besides its JSON, in bytes: its part of a row of several.
const itemRow = 8

// Size is about how many bytes are kept of it.
func (l LoopStart) Size() int {
	size := len(l.Outer) + len(l.Items)*itemRow
	for _, item := range l.Items {
		size += len(item)
	}
	return size
}

// ItemsPaused says whether all items of a node that are under way are paused. It is never
// refused; a node that waits for none passes it over.
type ItemsPaused struct {
	Node   workflow.NodeID
	Paused bool
}

// ItemsEnded says what became of the items of a node, in their order: of all, or, where one has
// failed and the others do not go on, of that one. It is taken like [ItemsPaused].
type ItemsEnded struct {
	Node    workflow.NodeID
	Count   int // of all items
	Items   []Outcome
	Omitted bool // what they gave is too large
}

// loopAction runs the body of a node for each item.
type loopAction struct {
	items       *evaluator
	concurrency int
	failFast    bool
	outer       uses // what the body looks at of the nodes that lead to this one
}

const itemsMember = "items"

func (p planner) loop(of workflow.NodeID, config map[string]any) action {
	source, _ := config[itemsMember].(string)
	a := loopAction{
		items: newEvaluator(p.compiler, "config."+itemsMember, source, p.scope), concurrency: defaultConcurrency, failFast: config["onItemError"] != node.ContinueOnItemError,
		outer: outerUses(p.graph, of),
	}
	if most, given := double(config["concurrency"]); given {
		a.concurrency = int(most)
	}
	return a
}

const defaultConcurrency = 10

func (a loopAction) begin(m *machine, i int) {
	n := m.node(i)
	if n.Pause != nil && n.Pause.Kind == PauseItems { // the run was retried
		m.awaitItems(i, LoopStart{Node: n.ID, Again: true})
		return
	}
	start := LoopStart{Node: n.ID, Concurrency: a.concurrency, FailFast: a.failFast}
	failure := a.evaluate(m, i, &start)
	switch {
	case failure != nil:
		m.fail(i, *failure)
	case len(start.Items) == 0:
		m.give(i, loopOutput(0, nil, nil), "")
	default:
		m.awaitItems(i, start)
	}
}

// awaitItems lets a node wait for its items.
func (m *machine) awaitItems(i int, start LoopStart) {
	n := m.node(i)
	n.Status, n.Failure, n.Pause = NodeWaiting, nil, &Pause{Kind: PauseItems, Since: m.at, Seq: m.s.Seq + 1}
	m.record(Entry{Type: EntryNodeWaiting, Node: n.ID})
	m.given += int64(start.Size())
	m.step.Loops = append(m.step.Loops, start)
}

// evaluate finds the items, and what the body looks at besides.
func (a loopAction) evaluate(m *machine, i int, start *LoopStart) *Failure {
	value, failure := a.items.evaluate(m.view, i, m.at, nil)
	if failure != nil {
		return failure
	}
	list, isArray := value.([]any)
	switch {
	case !isArray:
		return &Failure{Code: CodeNotArray, Message: fmt.Sprintf("The items must be an array, but %s is %s.", a.items.field, kindOf(value))}
	case len(list) > MaxItems:
		return &Failure{Code: CodeTooManyItems, Message: fmt.Sprintf("There must be at most %d items, not %d.", MaxItems, len(list))}
	}
	size := 0
	for _, item := range list {
		text, err := appendValue(nil, item)
		if err != nil {
			return &Failure{Code: CodeExpression, Message: fmt.Sprintf("%s: the items must be JSON values, but %v.", a.items.field, err)}
		}
		if size += len(text); size > MaxAnswer {
			return &Failure{Code: CodeItemsTooLarge, Message: fmt.Sprintf("The items must be at most %d bytes of JSON together. Pass on less, such as their ids.", MaxAnswer)}
		}
		start.Items = append(start.Items, text)
	}
	m.charge(size / writeForStep)
	start.Outer, failure = m.outer(i, a.outer)
	return failure
}

// outer is what the body of a node looks at of the nodes that lead to it, and of those around it.
func (v view) outer(i int, u uses) (json.RawMessage, *Failure) {
	all := map[string]any{}
	if v.usesOuter(u) {
		var around map[string]json.RawMessage
		_ = json.Unmarshal(v.run.state.Outer, &around) // it was written below
		for id, text := range around {
			if u.names(workflow.NodeID(id)) {
				all[id] = text
			}
		}
	}
	if u.nodes {
		v.eachBefore(i, u, func(j int) {
			if place, isText := v.source(j); isText {
				all[string(v.plan.nodes[j].id)] = v.text(place)
			} else {
				all[string(v.plan.nodes[j].id)] = failureOutput(v.node(j))
			}
		})
	}
	if len(all) == 0 {
		return nil, nil
	}
	text, err := appendValue(nil, all)
	v.charge(len(text) / writeForStep)
	if err != nil || len(text) > MaxOutputs {
		return nil, &Failure{Code: CodeValuesTooLarge, Message: fmt.Sprintf("What the body looks at of other nodes must be at most %d bytes of JSON together.", MaxOutputs)}
	}
	return text, nil
}

func (m *machine) itemsPaused(f ItemsPaused) {
	i, waits := m.awaitsItems(f.Node)
	if !waits || m.node(i).Pause.RunPaused == f.Paused {
		return
	}
	n := m.node(i)
	p := *n.Pause
	p.RunPaused, n.Pause = f.Paused, &p
	m.record(Entry{Type: EntryNodeWaiting, Node: n.ID})
}

func (m *machine) awaitsItems(id workflow.NodeID) (i int, waits bool) {
	i, known := m.plan.index[id]
	if !known || i >= len(m.s.Nodes) || m.s.Status.Finished() {
		return 0, false
	}
	n := m.node(i)
	return i, n.Status == NodeWaiting && n.Pause.Kind == PauseItems
}

func (m *machine) itemsEnded(f ItemsEnded) {
	i, waits := m.awaitsItems(f.Node)
	if !waits {
		return
	}
	m.step.Left = append(m.step.Left, f.Node)
	a, _ := m.plan.nodes[i].action.(loopAction)
	results, failed := make([]any, f.Count), []any{}
	size := 0
	for _, o := range f.Items {
		output, failure := o.ofItem()
		switch {
		case failure != nil && a.failFast:
			m.fail(i, Failure{Code: CodeItemFailed, Message: fmt.Sprintf("Item %d failed with %s: %s", o.Index, failure.Code, failure.Message)})
			return
		case failure != nil:
			failed = append(failed, failedItem(o.Index, *failure))
		case o.Index < len(results):
			results[o.Index] = output
			size += len(output)
		}
	}
	if f.Omitted || size > MaxOutput {
		m.fail(i, resultTooLarge())
		return
	}
	output := loopOutput(f.Count, results, failed)
	if text, err := appendValue(nil, output); err == nil && len(text) > MaxOutput {
		m.fail(i, resultTooLarge())
		return
	}
	m.give(i, output, "")
}

func resultTooLarge() Failure {
	return Failure{Code: CodeResultTooLarge, Message: fmt.Sprintf("What the items gave must be at most %d bytes of JSON together. Give less of each, with a return in the body.", MaxOutput)}
}

// ofItem is what the run of an item gave, or why it gave nothing.
func (o Outcome) ofItem() (json.RawMessage, *Failure) {
	switch {
	case o.Status == StatusFailed && o.Failure != nil:
		return nil, o.Failure
	case o.Status != StatusCompleted:
		return nil, &Failure{Code: CodeCallCancelled, Message: "The run of the item was cancelled."}
	case o.Omitted:
		failure := resultTooLarge()
		return nil, &failure
	case o.Output == nil:
		return json.RawMessage("null"), nil
	}
	return o.Output, nil
}

func failedItem(index int, f Failure) map[string]any {
	e := map[string]any{"code": f.Code, "message": f.Message}
	if f.Node != "" {
		e["nodeId"] = string(f.Node)
	}
	return map[string]any{"index": index, "error": e}
}

func loopOutput(count int, results, failed []any) map[string]any {
	if results == nil {
		results, failed = []any{}, []any{}
	}
	return map[string]any{"count": count, "results": results, "failed": failed}
}

// Loops lists the nodes that wait for their items.
func (r *Run) Loops() (nodes []workflow.NodeID) {
	for i := range r.state.Nodes {
		if n := &r.state.Nodes[i]; n.Status == NodeWaiting && n.Pause.Kind == PauseItems {
			nodes = append(nodes, n.ID)
		}
	}
	return nodes
}

// Item makes the run of an item of one of the run's nodes. It has the payload of the run, and what
// it has left of its time. A store adds the item.
func (r *Run) Item(of workflow.NodeID, id ID, index int, now time.Time) *Run {
	o := r.state.Origin
	o.Parent, o.ParentNode, o.ParentWaits, o.Cause = o.ID, of, true, CauseItem
	o.Trigger, o.TriggerName, o.TriggerType, o.DedupeKey, o.RerunOf, o.ReplayOf, o.Lane = "", "", "", "", "", "", Lane{}
	item := o.item(id, index, now)
	item.state.boundBy(r, now)
	return item
}

// Sibling makes the run of another item of the node that the run is of. The end of that node's run
// ends it, too.
func (r *Run) Sibling(id ID, index int, now time.Time) *Run { return r.state.item(id, index, now) }

func (o Origin) item(id ID, index int, now time.Time) *Run {
	o.ID, o.Index, o.CreatedAt = id, index, now
	o.Item, o.Outer = nil, nil
	return &Run{state: State{Origin: o, Status: StatusPending, UpdatedAt: now}}
}

// boundBy leaves a run that begins no more time than the one has that it belongs to. Its timeout
// stays, so that it has all of it when it is retried: what it belongs to has its own again by then,
// or ends it before.
func (s *State) boundBy(r *Run, now time.Time) {
	if deadline, active := r.deadline(); active {
		s.Used = max(0, s.Timeout-max(deadline.Sub(now), time.Millisecond))
	}
}

// WithGiven is the run with what a store adds to it.
func (r *Run) WithGiven(item, outer json.RawMessage) *Run {
	s := r.state
	s.Item, s.Outer = item, outer
	return Restore(s)
}

// Loop is how far a node is with its items.
type Loop struct {
	Node        workflow.NodeID
	Count       int
	Next        int // the first item that has not been looked at
	Live        int // how many have begun and have not ended
	Paused      int // how many of those are paused
	Concurrency int
	FailFast    bool
	Failed      bool // an item has failed, and none begins any more
	Left        bool // nobody waits for it any more
}

// Move counts the step of an item.
func (l *Loop) Move(was, is Status) {
	switch {
	case was.Finished() && !is.Finished(): // somebody retries it
		l.Live++
		l.Failed = false
	case !was.Finished() && is.Finished():
		l.Live--
		l.Failed = l.Failed || l.FailFast && is != StatusCompleted
	}
	l.Paused += paused(is) - paused(was)
}

func paused(s Status) int {
	if s == StatusPaused {
		return 1
	}
	return 0
}

// Room is how many items may begin.
func (l Loop) Room() int {
	if l.Left || l.Failed {
		return 0
	}
	return max(0, min(l.Concurrency-l.Live, l.Count-l.Next))
}

// Over says whether the node need not wait any more: all items have ended, or one has failed.
func (l Loop) Over() bool { return l.Failed || l.Next == l.Count && l.Live == 0 }

// AllPaused says whether everything that is under way is paused.
func (l Loop) AllPaused() bool { return !l.Over() && l.Live > 0 && l.Paused == l.Live }
