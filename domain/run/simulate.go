package run

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Answer is what a simulation takes for something outside: the result of an attempt, or
// what ends a pause. Exactly one of the first three members is looked
// at, in their order; without any the attempt succeeds, or the pause ends, with
// null.
type Answer struct {
	Failure *AttemptFailed  // the attempt fails; node and attempt are filled in
	Pause   *AttemptPaused  // the attempt asks to pause; likewise
	Output  json.RawMessage // what the attempt gives, or a person's answer, or an event's data
	After   time.Duration   // how long it takes

	// Pinned says that Output is all that the node gives, as the version's sample data have it.
	Pinned bool
}

// Outside is what a simulation takes for what is outside of a run.
type Outside struct {
	// Answers are used once each, in the order of the list for its node. Those for a node in a
	// body are used for its items in their order, and one for a node that runs a body stands for
	// all that its items give.
	Answers map[workflow.NodeID][]Answer

	// Called has the workflows that nodes may call. A node that has no answer gets what a
	// simulation of the workflow gives, which has no answers itself; where it would need one, the
	// node is left open.
	Called map[workflow.ID]*Plan

	// Shown is the item whose trace is kept: of a node, and then of one in its body, and so on.
	Shown []ItemPlace

	// Body makes the plan of the body of a node of a plan; nil leaves such nodes open.
	Body func(of *Plan, loop workflow.NodeID) *Plan

	// Stop is asked now and then, and its error ends the simulation; nil never does.
	Stop func() error

	// Compute makes the attempts at nodes that compute, where there is no answer: what it gives
	// is [AttemptCompleted] or [AttemptFailed]; nil leaves them open. It is told how many bytes the
	// simulation takes meanwhile.
	Compute func(e Execute, taken int64) (Fact, error)
}

// Trace is what a simulation did.
type Trace struct {
	Run     *Run              // as it was left: [Run.Input] and [Run.Output] say what each node got and gave
	History []Entry           // in the order of the virtual clock
	Effects []Effect          // those of items, too, in the same order
	Loops   []SimulatedItems  // of nodes that run a body
	Item    *ItemTrace        // the one that is shown; nil where the run did not come to it
	Open    []workflow.NodeID // nodes that would need another answer to go on; none when the run has ended
}

// Effect is an attempt that a real run would have made outside.
type Effect struct {
	At time.Time
	Execute
	MayRepeat bool // see [node.NodeType.MayRepeat]
}

// Simulate runs a version on a virtual clock that begins at the time, with no
// effect outside; where time is all that a run waits for, it passes at once. What has no answer is
// left open, but a pause without one expires. The error is Invalid with the code
// simulation_invalid when an answer is for a node that does not exist, does not fit
// what the node waits for, or can never come, with fields such as answers.approve[0]. With
// the code simulation_too_large it computes more than [MaxSimulatedSteps], or its effects
// are larger than [MaxSimulatedEffects].
func Simulate(p *Plan, id ID, s Start, at time.Time, o Outside) (Trace, error) {
	for _, n := range slices.Sorted(maps.Keys(o.Answers)) {
		if !p.graph.Whole().Has(n) {
			return Trace{}, unfit(answerPath(n, 0), domain.Unknown, "must be for a node of this version; there is no %q", n)
		}
	}
	if err := o.checkShown(p); err != nil {
		return Trace{}, err
	}
	if o.Answers = maps.Clone(o.Answers); o.Answers == nil {
		o.Answers = make(map[workflow.NodeID][]Answer)
	}
	sim := newSimulation(p, New(id, s, at), truncated(at), o, &simulationSpent{bodies: map[bodyKey]*Plan{}})
	trace, err := sim.play()
	slices.SortStableFunc(trace.Effects, func(a, b Effect) int { return a.At.Compare(b.At) })
	return trace, err
}

func newSimulation(p *Plan, r *Run, at time.Time, o Outside, spent *simulationSpent) *simulation {
	r.simulated = true
	return &simulation{
		plan: p, run: r, now: at, Outside: o, used: map[workflow.NodeID]int{}, spent: spent,
		computed: map[workflow.NodeID]Fact{}, loops: map[workflow.NodeID]simulatedLoop{},
	}
}

// play runs the simulation to its end, or until it needs another answer.
func (s *simulation) play() (Trace, error) {
	step, err := s.advance(Started{})
	for err == nil && !step.Finished {
		next, ok := s.next()
		if !ok {
			break
		}
		if next.misfit != "" {
			return Trace{}, unfit(s.path(next.node), domain.Conflicting, "%s", next.misfit)
		}
		s.pass(next.at)
		if step, err = s.advance(next.fact); err == nil && step.Refused != nil {
			err = unfit(s.path(next.node), domain.Conflicting, "does not fit what the node waits for: %s", reason(step.Refused))
		}
		if next.node != "" {
			s.used[next.node]++
		}
	}
	if err != nil {
		return Trace{}, err
	}
	if s.trace.Run = s.run; step.Finished {
		s.trace.Open = nil
	}
	return s.trace, nil
}

func answerPath(n workflow.NodeID, i int) string {
	return domain.Index(domain.Member("answers", string(n)), i)
}

// path is where the answer stands that is next for a node.
func (s *simulation) path(n workflow.NodeID) string {
	if i := s.used[n]; i >= len(s.Answers[n]) || !s.Answers[n][i].Pinned {
		return answerPath(n, i)
	}
	return domain.Member("pins", string(n))
}

func unfit(path string, code domain.ViolationCode, format string, args ...any) error {
	var r domain.Rules
	r.Check(false, path, code, format, args...)
	return r.Err("simulation_invalid", "The simulation's answers are not valid.")
}

// reason is why a fact was refused, in detail.
func reason(e *domain.Error) string {
	if f := invalid("", e.Violations); f != nil {
		return f.Message
	}
	return e.Message
}

// simulation is one run on a virtual clock.
type simulation struct {
	Outside
	plan   *Plan
	run    *Run
	now    time.Time
	used   map[workflow.NodeID]int
	trace  Trace
	above  int  // how large the runs are that this one is below
	worked bool // time passed while the run was not paused
	spent  *simulationSpent

	computed map[workflow.NodeID]Fact // what came of attempts that are outstanding
	loops    map[workflow.NodeID]simulatedLoop
}

// simulationSpent is what a simulation and those below it have taken together, and the plans of
// bodies that they made.
type simulationSpent struct {
	steps   int64
	effects int64 // weight of what is in the trace, and of the plans of bodies
	bodies  map[bodyKey]*Plan
}

// pass moves the clock.
func (s *simulation) pass(to time.Time) {
	s.worked = s.worked || to.After(s.now) && s.run.Status() != StatusPaused
	s.now = to
}

// below is a simulation of a run that this one starts, or of an item. It counts as much as begins
// one takes.
func (s *simulation) below(p *Plan, r *Run, at time.Time, answers map[workflow.NodeID][]Answer) *simulation {
	o := s.Outside
	o.Answers, o.Shown = answers, nil
	b := newSimulation(p, r, at, o, s.spent)
	b.above = s.above + s.run.Size()
	s.spent.steps += stepsOfRun
	return b
}

// stepsOfRun is how many steps it takes to begin a run and to end it.
const stepsOfRun = 500

// simulationSecret makes the tokens with which a simulation resumes its pauses.
// They open nothing: the run exists nowhere else.
var simulationSecret = Secret{1}

func (s *simulation) advance(f Fact) (step Step, err error) {
	step, err = s.step(f)
	for refused := step.Refused; err == nil && s.run.More(); {
		step, err = s.step(TimeReached{})
		step.Refused = refused
	}
	return step, err
}

// step goes as far as one Advance does.
func (s *simulation) step(f Fact) (Step, error) {
	if s.Stop != nil {
		if err := s.Stop(); err != nil {
			return Step{}, err
		}
	}
	step, err := s.run.Advance(s.plan, Event{At: s.now, Secret: simulationSecret, Fact: f})
	if err != nil {
		return Step{}, err
	}
	if s.spent.steps += step.Used.Steps; s.spent.steps > MaxSimulatedSteps {
		return Step{}, domain.Fail(domain.Invalid, "simulation_too_large",
			"This simulation computes more than %d steps. Simulate it with smaller data.", MaxSimulatedSteps)
	}
	if s.above > 0 && s.above+s.run.Size() > MaxOutputs {
		return Step{}, domain.Fail(domain.Invalid, "simulation_too_large",
			"The runs of this simulation that start one another take more than %d bytes together. Simulate it with smaller data.", MaxOutputs)
	}
	s.trace.History = append(s.trace.History, step.History...)
	for _, e := range step.Execute {
		if !e.Computes {
			if err := s.spend(effectBytes + e.Weight); err != nil {
				return Step{}, err
			}
		}
		if e, err = s.run.Prepare(s.plan, e); err != nil {
			return Step{}, err
		}
		if e.Computes {
			if err := s.attempt(e); err != nil {
				return Step{}, err
			}
			continue
		}
		s.trace.Effects = append(s.trace.Effects, Effect{At: s.now, Execute: e, MayRepeat: s.mayRepeat(e)})
		if err = s.call(e); err != nil {
			return Step{}, err
		}
	}
	for _, l := range step.Loops {
		if err := s.loop(l); err != nil {
			return Step{}, err
		}
	}
	return step, nil
}

// attempt makes an attempt at a node that computes, unless there is an answer for it.
func (s *simulation) attempt(e Execute) (err error) {
	if delete(s.computed, e.Node); s.Compute != nil && s.used[e.Node] >= len(s.Answers[e.Node]) {
		s.run.Forget()
		s.computed[e.Node], err = s.Compute(e, int64(s.above+s.run.Size())+s.spent.effects+e.Weight)
	}
	return err
}

func (s *simulation) mayRepeat(e Execute) bool {
	action, isEffect := s.plan.nodes[s.plan.index[e.Node]].action.(*effectAction)
	return isEffect && action.kind.MayRepeat(e.Config)
}

// upcoming is the next thing in a simulation; node is empty for time alone.
type upcoming struct {
	at     time.Time
	node   workflow.NodeID
	fact   Fact
	misfit string // why that answer can never come; empty when it can
}

// next finds what happens first: an answer, or something that falls due. The end of
// the run's time is not waited for while an answer is missing.
func (s *simulation) next() (first upcoming, ok bool) {
	s.trace.Open = nil
	for i := range s.run.state.Nodes {
		n := &s.run.state.Nodes[i]
		attempted := n.Status == NodeRunning && n.RetryAt == nil
		if paused := n.Status == NodeWaiting && n.Pause.Kind != PauseWait; !attempted && !paused {
			continue
		}
		given := s.Answers[n.ID]
		if computed, ok := s.computed[n.ID]; ok && attempted {
			return upcoming{at: s.now, node: n.ID, fact: computed}, true
		}
		if s.used[n.ID] >= len(given) && !attempted && n.Pause.Kind == PauseItems {
			if items, ends := s.itemsNext(n); ends && (!ok || items.at.Before(first.at)) {
				first, ok = items, true
			}
			continue
		}
		if s.used[n.ID] >= len(given) {
			if attempted || n.Pause.Until == nil {
				s.trace.Open = append(s.trace.Open, n.ID)
			}
			continue
		}
		a := given[s.used[n.ID]]
		if at := s.since(n).Add(a.After); !ok || at.Before(first.at) {
			first, ok = upcoming{at: at, node: n.ID, fact: s.fact(n, a), misfit: s.misfit(i, a)}, true
		}
	}
	wake := s.run.wakeAt()
	deadline, active := s.run.deadline()
	idle := !ok && (len(s.trace.Open) == 0 || !active || wake.Before(deadline)) // where active, wake is there
	if wake != nil && (idle || ok && !first.at.Before(*wake)) {
		first, ok = upcoming{at: *wake, fact: TimeReached{}}, true
	}
	return first, ok
}

// since is when the node began what it is to be answered.
func (s *simulation) since(n *NodeState) time.Time {
	if n.Status == NodeWaiting {
		return n.Pause.Since
	}
	for _, e := range slices.Backward(s.trace.History) {
		if e.Type == EntryNodeStarted && e.Node == n.ID {
			return e.At
		}
	}
	return s.now
}

// misfit says why the answer can never come to the node, empty when it can.
func (s *simulation) misfit(i int, a Answer) string {
	waits := s.run.state.Nodes[i].Status == NodeWaiting
	e, calls := s.plan.nodes[i].action.(*effectAction)
	runsItems := waits && s.run.state.Nodes[i].Pause.Kind == PauseItems
	switch {
	case runsItems && a.Pause != nil:
		return "must not be a pause: the node gives an output, or fails"
	case runsItems:
		return ""
	case waits && a.Failure != nil:
		return "must not be an error: the node waits for an output, and fails only when its time is over without an answer"
	case waits && a.Pause != nil:
		return "must not be a pause: the node waits already, for an output"
	case a.Pause != nil && calls && e.kind.BuiltIn:
		return "must not be a pause: only custom nodes ask for one"
	}
	return ""
}

// fact is the answer as the run takes it.
func (s *simulation) fact(n *NodeState, a Answer) Fact {
	output := a.Output
	if len(output) == 0 {
		output = json.RawMessage("null")
	}
	switch {
	case n.Status == NodeWaiting && n.Pause.Kind == PauseItems:
		return itemsAnswered{node: n.ID, failure: a.Failure, output: output}
	case n.Status == NodeWaiting:
		if a.Pinned && n.Pause.Kind == PauseEvent {
			var given struct {
				EventData json.RawMessage `json:"eventData"`
			}
			_ = json.Unmarshal(output, &given) // what is of another shape brings nothing
			output = given.EventData
		}
		return Resumed{Token: Token(simulationSecret, s.run.ID(), n.ID, n.Pause.Seq), Input: output}
	case a.Failure != nil:
		f := *a.Failure
		f.Node, f.Attempt = n.ID, n.Attempts
		return f
	case a.Pause != nil:
		f := *a.Pause
		f.Node, f.Attempt = n.ID, n.Attempts
		return f
	}
	return AttemptCompleted{Node: n.ID, Attempt: n.Attempts, Output: output}
}
