package run

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// due lets everything take effect that falls due by itself: the end of the run's
// time, pauses and further attempts, in the order of the nodes.
func (m *machine) due() {
	if deadline, active := m.run.deadline(); active && !m.at.Before(deadline) {
		m.finish(StatusFailed, &Failure{Code: CodeTimeout, Message: "The run took longer than " + m.hadTime() + "."}, "")
		return
	}
	for i := range m.s.Nodes {
		if m.s.Status.Finished() {
			return
		}
		switch n := m.node(i); {
		case m.spent(): // what is left takes effect with the next event
			return
		case m.overdue(n):
			m.ended(i)
		case n.Status == NodeRunning && n.RetryAt != nil && !m.at.Before(*n.RetryAt):
			m.attempt(i)
		}
	}
}

// hadTime says how long a run could take.
func (m *machine) hadTime() string {
	if m.s.Parent != "" {
		return m.s.Timeout.String() + ", the time that it had, or than the run that started it had left"
	}
	return m.s.Timeout.String() + ", the time that it had"
}

// overdue says whether the pause of a node has ended by itself.
func (m *machine) overdue(n *NodeState) bool {
	return n.Status == NodeWaiting && n.Pause.Until != nil && !m.at.Before(*n.Pause.Until)
}

// ended is the end of a pause by time: a wait is over, anything else has expired.
func (m *machine) ended(i int) {
	n := m.node(i)
	if n.Pause.Kind == PauseWait {
		m.pass(i, "")
		return
	}
	m.expired = append(m.expired, i)
	m.fail(i, Failure{Code: CodeExpired, Message: "Nothing resumed the node within " + n.Pause.Until.Sub(n.Pause.Since).String() + "."})
}

// deadline is when the run's time is over; active is false while it stands still.
func (r *Run) deadline() (at time.Time, active bool) {
	if r.state.ActiveSince == nil {
		return time.Time{}, false
	}
	return r.state.ActiveSince.Add(r.state.Timeout - r.state.Used), true
}

// wakeAt is the first time at which something falls due by itself.
func (r *Run) wakeAt() *time.Time {
	var first *time.Time
	sooner := func(t *time.Time) {
		if t != nil && (first == nil || t.Before(*first)) {
			first = t
		}
	}
	for i := range r.state.Nodes {
		switch n := &r.state.Nodes[i]; n.Status {
		case NodeWaiting:
			sooner(n.Pause.Until)
		case NodeRunning:
			sooner(n.RetryAt)
		}
	}
	if deadline, active := r.deadline(); active {
		sooner(&deadline)
	}
	if r.state.more() {
		sooner(&r.state.UpdatedAt)
	}
	return domain.CopyOf(first)
}

// stopClock stops the clock of the run's timeout.
func (m *machine) stopClock() {
	if m.s.ActiveSince != nil {
		m.s.Used += m.at.Sub(*m.s.ActiveSince)
		m.s.ActiveSince = nil
	}
}
