package run

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Advance takes an event, goes as far as the run can without anything outside, and
// says what is to be done. When the step has changed the run, store it with its
// history before any attempt in the step is made, unless it [Step.MayWait]. The error, of the kind Internal,
// is a defect: the plan is that of another version. Nothing has changed then.
func (r *Run) Advance(p *Plan, e Event) (Step, error) {
	if err := r.check(p); err != nil {
		return Step{}, err
	}
	m := &machine{s: &r.state, at: truncated(e.At), secret: e.Secret, step: Step{Was: r.state.Status}}
	m.view = view{plan: p, run: r, budget: e.Budget.orDefaults(), meter: &m.used, charged: newNodeSet(len(p.nodes) + givenTexts)}
	if m.at.Before(m.s.UpdatedAt) {
		m.at = m.s.UpdatedAt
	}
	m.due()
	m.continueComputing()
	m.take(e.Fact)
	m.drain()
	m.conclude()
	m.step.Known = m.known(e.Fact)
	return m.step, nil
}

// known says whether a fact is nothing but the time, or what a node computes.
func (m *machine) known(f Fact) bool {
	of := workflow.NodeID("")
	switch f := f.(type) {
	case Started, TimeReached:
		return true
	case AttemptCompleted:
		of = f.Node
	case AttemptFailed:
		of = f.Node
	}
	i, exists := m.plan.index[of]
	if !exists {
		return false
	}
	e, isEffect := m.plan.nodes[i].action.(*effectAction)
	return isEffect && e.kind.Computes
}

func (r *Run) check(p *Plan) error {
	if p.version != r.state.Version || p.loop != r.Source().Loop || len(r.state.Nodes) > 0 && !p.fits(r.state.Nodes) {
		return domain.Fail(domain.Internal, "run_plan_mismatch",
			"Run %s executes version %s, but the plan is of version %s.", r.state.ID, r.state.Version, p.version)
	}
	return nil
}

// machine is one Advance.
type machine struct {
	view
	s        *State
	at       time.Time
	secret   Secret
	step     Step
	queue    []int // nodes to which an edge was settled
	expired  []int // nodes whose pause expired in this step
	used     Meter
	log      []string      // of the attempt that the step is about, until the entry that says how it ended
	redacted bool          // likewise
	by       *tenant.Actor // who brings what ends a pause, until the entry that says so
	prepared int64         // weight of the inputs and configurations of the attempts of this step
	given    int64         // how much memory the values take that nodes gave in this step, once they are read
}

func (m *machine) refuse(kind domain.Kind, code, format string, args ...any) {
	m.step.Refused = domain.Fail(kind, code, format, args...)
}

// record appends an entry to the history. Its texts come from outside in part.
func (m *machine) record(e Entry) {
	m.s.Seq++
	if m.step.History == nil {
		m.step.History = make([]Entry, 0, 8)
	}
	e.Seq, e.At = m.s.Seq, m.at
	if e.Attempt > 0 {
		e.Log, e.Redacted, m.log, m.redacted = m.log, m.redacted, nil, false
	}
	e.Branch, e.Code, e.Message = storable(e.Branch, maxCode), storable(e.Code, maxCode), storable(e.Message, maxMessage)
	m.step.History = append(m.step.History, e)
}

// emit adds an event that the last entry records.
func (m *machine) emit(h DomainEvent) {
	h.Seq, h.At = m.s.Seq, m.at
	m.step.Happened = append(m.step.Happened, h)
}

// take applies the fact.
func (m *machine) take(f Fact) {
	switch f := f.(type) {
	case Started:
		m.start()
	case AttemptCompleted:
		if i, ok := m.attempted(f.Node, f.Attempt); ok {
			m.keepOutcome(i, f.Log, f.Redacted)
			m.attemptCompleted(i, f.Output)
		}
	case AttemptFailed:
		if i, ok := m.attempted(f.Node, f.Attempt); ok {
			m.keepOutcome(i, f.Log, f.Redacted)
			m.attemptFailed(i, f)
		}
	case AttemptPaused:
		if i, ok := m.attempted(f.Node, f.Attempt); ok {
			m.keepOutcome(i, nil, f.Redacted)
			m.attemptPaused(i, f)
		}
	case AttemptCalled:
		if i, ok := m.attempted(f.Node, f.Attempt); ok {
			m.attemptCalled(i, f)
		}
	case AttemptPostponed:
		if i, ok := m.attempted(f.Node, f.Attempt); ok {
			m.attemptPostponed(i, f)
		}
	case ChildrenChanged:
		m.childrenChanged(f)
	case ItemsPaused:
		m.itemsPaused(f)
	case ItemsEnded:
		m.itemsEnded(f)
	case itemsAnswered:
		m.itemsAnswered(f)
	case Resumed:
		m.resumed(f)
	case Answered:
		m.answered(f)
	case EventArrived:
		m.arrived(f)
	case CancelRequested:
		m.cancel(f)
	case RetryRequested:
		m.retry()
	}
}

// start begins a pending run where its trigger says.
func (m *machine) start() {
	if m.s.Status != StatusPending {
		m.refuse(domain.Conflict, "run_started", "Run %s has been started before.", m.s.ID)
		return
	}
	if m.s.StartedAt != nil { // it had ended, and the loop that it is of goes on
		m.again()
		return
	}
	at := m.at
	m.s.Status, m.s.ActiveSince = StatusRunning, &at
	m.record(Entry{Type: EntryRunStarted})
	m.emit(DomainEvent{Type: RunStarted})
	m.enter()
}

// enter makes the nodes' states and begins where the trigger says, with the results that the
// run takes over.
func (m *machine) enter() {
	if len(m.s.Nodes) == 0 {
		m.s.Nodes = m.plan.untouched()
		m.s.Executed = make([]workflow.NodeID, 0, len(m.plan.nodes))
	}
	at := m.at
	m.s.StartedAt = &at
	b := m.plan.beginning(m.s.attachedTrigger())
	for _, i := range b.outside {
		m.node(i).Status = NodeSkipped // without an entry: these nodes are of other triggers
	}
	m.goOnFromTaken()
	m.reach(slices.DeleteFunc(slices.Clone(b.starts), func(i int) bool { return m.node(i).TakenOver }))
}

// reach begins nodes one after the other, unless one of them ends the run.
func (m *machine) reach(nodes []int) {
	for at, i := range nodes {
		switch {
		case m.s.Status.Finished():
			return
		case m.spent():
			m.s.Begin = append(m.s.Begin, nodes[at:]...)
			return
		default:
			m.begin(i)
		}
	}
}

func (m *machine) begin(i int) {
	at := m.at
	m.node(i).StartedAt = &at
	m.plan.nodes[i].action.begin(m, i)
}

// drain begins and skips nodes until nothing follows any more, or enough was computed.
func (m *machine) drain() {
	for at := 0; at < len(m.queue) && !m.s.Status.Finished(); at++ {
		switch i := m.queue[at]; {
		case m.node(i).Status != NodePending:
		case m.spent():
			m.keepQueue(m.queue[at:])
			m.queue = m.queue[:at]
		case m.decided(i):
			m.consider(i)
		}
	}
	m.queue = m.queue[:0]
}

// keepQueue keeps nodes for the next step, if that has anything to do.
func (m *machine) keepQueue(queue []int) {
	if m.s.more() || slices.ContainsFunc(queue, func(i int) bool { return m.node(i).Status == NodePending && m.decided(i) }) {
		m.s.Consider = append(m.s.Consider, queue...)
	}
}

// continueComputing takes up what an earlier step kept, and what fell due.
func (m *machine) continueComputing() {
	begin, consider := m.s.Begin, m.s.Consider
	m.s.Begin, m.s.Consider = nil, nil
	m.queue = append(consider, m.queue...)
	m.reach(begin)
	m.drain()
}

// decided says whether all incoming edges of a node are settled.
func (m *machine) decided(i int) bool {
	for _, e := range m.plan.nodes[i].in {
		if !m.settled(m.plan.edges[e].source) {
			return false
		}
	}
	return true
}

// consider begins a node when one of its incoming edges is taken, and skips it when all
// are dead (dead path elimination).
func (m *machine) consider(i int) {
	in := m.plan.nodes[i].in
	taken := len(in) == 0 // a start that a failed run had not come to
	for _, e := range in {
		taken = taken || m.taken(&m.plan.edges[e])
	}
	if taken {
		m.begin(i)
		return
	}
	at := m.at
	n := m.node(i)
	n.Status, n.FinishedAt = NodeSkipped, &at
	m.record(Entry{Type: EntryNodeSkipped, Node: n.ID})
	m.follow(i)
}

// follow has the nodes considered that a settled node leads to.
func (m *machine) follow(i int) {
	for _, e := range m.plan.nodes[i].out {
		m.queue = append(m.queue, m.plan.edges[e].target)
	}
}

// conclude brings the run's own status in line with its nodes.
func (m *machine) conclude() {
	if m.s.Status == StatusRunning || m.s.Status == StatusPaused {
		running, waiting, calling := m.s.more(), false, false
		for i := range m.s.Nodes {
			n := m.node(i)
			running = running || n.Status == NodeRunning || m.overdue(n)
			calling = calling || n.Status == NodeWaiting && n.Pause.Kind.byRuns() && !n.Pause.RunPaused
			waiting = waiting || n.Status == NodeWaiting
		}
		switch {
		case calling && m.s.Status == StatusPaused:
			m.activate(EntryRunResumed)
		case !running && waiting && !calling && m.s.Status == StatusRunning:
			m.stopClock()
			m.s.Status, m.step.Turned = StatusPaused, true
			m.record(Entry{Type: EntryRunPaused})
		case !running && !waiting:
			m.finish(StatusCompleted, nil, "")
		}
	}
	if m.step.Changed() {
		m.s.UpdatedAt = m.at
	}
	wake := m.run.wakeAt()
	if m.step.Changed() {
		m.s.WakeAt = wake
	}
	m.step.Used = m.used
	if wake != nil {
		m.step.WakeAt = *wake
	}
	if deadline, active := m.run.deadline(); active {
		for i := range m.step.Execute {
			m.step.Execute[i].Deadline = deadline
		}
	}
}

// activate starts the clock of the run's timeout.
func (m *machine) activate(why EntryType) {
	at := m.at
	m.s.Status, m.s.ActiveSince, m.step.Turned = StatusRunning, &at, true
	m.record(Entry{Type: why})
}

// finish ends the run and everything that runs or waits in it.
func (m *machine) finish(as Status, failure *Failure, reason string) {
	at := m.at
	m.stopClock()
	m.s.Status, m.s.FinishedAt, m.s.Failure = as, &at, failure
	m.s.Begin, m.s.Consider = nil, nil
	for i := range m.s.Nodes {
		if n := &m.s.Nodes[i]; n.Status == NodeRunning || n.Status == NodeWaiting {
			if n.Status == NodeWaiting && n.Pause.Kind == PauseItems {
				m.step.Left = append(m.step.Left, n.ID)
			}
			n.Status, n.FinishedAt, n.RetryAt = NodeCancelled, &at, nil
			m.record(Entry{Type: EntryNodeCancelled, Node: n.ID, Attempt: n.Attempts})
		}
	}
	m.step.Execute, m.step.Finished, m.step.Turned = nil, true, true
	switch as {
	case StatusCompleted:
		m.s.Result = m.result()
		m.record(Entry{Type: EntryRunCompleted})
		m.emit(DomainEvent{Type: RunCompleted})
	case StatusCancelled:
		m.record(Entry{Type: EntryRunCancelled, Message: reason})
		m.emit(DomainEvent{Type: RunCancelled})
	default:
		m.record(Entry{Type: EntryRunFailed, Node: failure.Node, Edge: failure.Edge, Code: failure.Code, Message: failure.Message})
		m.emit(DomainEvent{Type: RunFailed, Failure: failure})
	}
}

func (m *machine) cancel(f CancelRequested) {
	if m.s.Status.Finished() {
		m.refuse(domain.Conflict, "run_finished", "Run %s has ended already; it is %s.", m.s.ID, m.s.Status)
		return
	}
	m.step.Unwanted = f.Unwanted
	m.finish(StatusCancelled, nil, f.Reason)
}

// retry continues a failed run.
func (m *machine) retry() {
	if m.s.Status != StatusFailed {
		m.refuse(domain.Conflict, "run_not_failed", "Only a failed run can be retried; run %s is %s.", m.s.ID, m.s.Status)
		return
	}
	m.again()
}

// again goes on with a run that has ended.
func (m *machine) again() {
	m.s.Retries++
	m.s.Used, m.s.FinishedAt, m.s.Failure = 0, nil, nil
	m.activate(EntryRunRetried)
	m.emit(DomainEvent{Type: RunResumed})
	if m.s.StartedAt == nil { // it was given up before it began
		m.enter()
		return
	}
	for i := range m.s.Nodes { // first, so that nothing is begun when the run fails at them again
		if len(m.node(i).Undecided) > 0 && !m.leave(i) {
			return
		}
	}
	var again []int
	for i := range m.s.Nodes {
		n := &m.s.Nodes[i]
		switch {
		case n.Status == NodeCancelled || n.Status == NodeFailed && !n.Handled:
			*n = NodeState{ID: n.ID, Status: NodePending, Attempts: n.Attempts, AttemptsBeforeRetry: n.Attempts, Pause: n.Pause}
			m.forget(i)
			again = append(again, i)
		case n.Status == NodePending:
			m.queue = append(m.queue, i)
		}
	}
	m.reach(slices.Clip(again))
}
