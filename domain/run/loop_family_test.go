package run_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// family is a run with the runs of its items, of which a store would keep what it has here.
type family struct {
	t       *rapid.T
	now     time.Time
	members []*member
	fails   map[workflow.NodeID]bool // calls
}

type member struct {
	plan     *run.Plan
	run      *run.Run
	of       *loopOfMember // nil for the first
	attempts map[workflow.NodeID]run.Execute
	loops    map[workflow.NodeID]*loopOfMember
}

type loopOfMember struct {
	run.Loop
	start run.LoopStart
	from  *member
	plan  *run.Plan
	ended map[int]run.Outcome
	told  bool
}

func (f *family) join(p *run.Plan, r *run.Run, of *loopOfMember) {
	m := &member{plan: p, run: r, of: of, attempts: map[workflow.NodeID]run.Execute{}, loops: map[workflow.NodeID]*loopOfMember{}}
	f.members = append(f.members, m)
	f.tell(m, run.Started{})
}

// tell advances a run, and does with the step what a store would do.
func (f *family) tell(m *member, fact run.Fact) {
	was := m.run.Status()
	for {
		step, err := m.run.Advance(m.plan, run.Event{At: f.now, Secret: secret, Fact: fact})
		_, cancelled := fact.(run.CancelRequested)
		late := cancelled && m.run.Status().Finished() // what was due first has ended it
		if err != nil || step.Refused != nil && !late {
			f.t.Fatalf("%T of %s: %v, %v", fact, m.run.ID(), err, step.Refused)
		}
		for _, e := range step.Execute {
			m.attempts[e.Node] = e
		}
		for _, l := range step.Loops {
			m.loops[l.Node] = &loopOfMember{
				Loop: run.Loop{Node: l.Node, Count: len(l.Items), Concurrency: l.Concurrency, FailFast: l.FailFast}, start: l, from: m,
				plan: bodies(f.t)(m.plan, l.Node), ended: map[int]run.Outcome{},
			}
		}
		for _, id := range step.Left {
			m.loops[id].Left = true
		}
		if fact = (run.TimeReached{}); !m.run.More() {
			break
		}
	}
	if m.of == nil {
		return
	}
	m.of.Move(was, m.run.Status())
	if m.run.Status().Finished() {
		m.of.ended[m.run.Outcome().Index] = m.run.Outcome()
	}
}

// choices are what can happen next.
func (f *family) choices() (all []func()) {
	for _, m := range f.members {
		if m.run.Status().Finished() {
			continue
		}
		if m.of != nil && (m.of.Left || m.of.Failed) {
			all = append(all, func() { f.tell(m, run.CancelRequested{}) })
			continue
		}
		for _, n := range m.run.Nodes() {
			if attempt, open := m.attempts[n.ID]; open && n.Status == run.NodeRunning {
				all = append(all, func() { f.settle(m, attempt) })
			}
			if l := m.loops[n.ID]; l != nil && n.Status == run.NodeWaiting {
				all = append(all, f.loopChoices(l)...)
			}
		}
		if wake := m.run.WakeAt(); wake != nil && wake.Before(noon.Add(24*time.Hour)) {
			all = append(all, func() {
				if f.now.Before(*wake) {
					f.now = *wake
				}
				f.tell(m, run.TimeReached{})
			})
		}
	}
	return all
}

func (f *family) settle(m *member, of run.Execute) {
	delete(m.attempts, of.Node)
	if f.fails[of.Node] {
		f.tell(m, run.AttemptFailed{Node: of.Node, Attempt: of.Attempt, Code: "broken", Message: "No."})
		return
	}
	f.tell(m, run.AttemptCompleted{Node: of.Node, Attempt: of.Attempt, Output: map[string]any{"by": string(of.Node)}})
}

func (f *family) loopChoices(l *loopOfMember) (all []func()) {
	if l.Room() > 0 {
		all = append(all, func() {
			at := l.Next
			l.Next++
			l.Live++
			id := run.ID(fmt.Sprintf("%s.%s.%d", l.from.run.ID(), l.Node, at))
			f.join(l.plan, l.from.run.Item(l.Node, id, at, f.now).WithGiven(l.start.Items[at], l.start.Outer), l)
		})
	}
	if l.AllPaused() != l.told && !l.Over() {
		all = append(all, func() {
			l.told = !l.told
			f.tell(l.from, run.ItemsPaused{Node: l.Node, Paused: l.told})
		})
	}
	if l.Over() {
		ended := run.ItemsEnded{Node: l.Node, Count: l.Count}
		for i := range l.Count {
			if o, known := l.ended[i]; known && (!l.Failed || o.Status == run.StatusFailed) {
				ended.Items = append(ended.Items, o)
			}
		}
		all = append(all, func() { f.tell(l.from, ended) })
	}
	return all
}
