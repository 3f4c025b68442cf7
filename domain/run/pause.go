package run

import (
	"crypto/subtle"
	"encoding/json"
	"math"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// waitAction pauses for a delay, until a time, or until what an expression gives.
type waitAction struct {
	delay    time.Duration
	until    *time.Time
	computed *evaluator
}

func (p planner) wait(config map[string]any) action {
	text, _ := config["until"].(string)
	if text == "" {
		return waitAction{delay: milliseconds(config["delayMs"])}
	}
	if until, isTime := node.ParseTime(text); isTime {
		return waitAction{until: &until}
	}
	return waitAction{computed: newEvaluator(p.compiler, "config.until", text, p.scope)}
}

// begin does not pause for a time that has passed already.
func (w waitAction) begin(m *machine, i int) {
	until := m.at.Add(w.delay)
	switch {
	case w.until != nil:
		until = notBefore(*w.until)
	case w.computed != nil:
		value, failure := w.computed.evaluate(m.view, i, m.at, nil)
		if failure != nil {
			m.fail(i, *failure)
			return
		}
		at, isTime := readTime(value)
		if !isTime {
			message := ": must give a time in ISO 8601, such as 2026-01-31T09:00:00Z, or milliseconds since 1970; this is " + described(value)
			if _, isNumber := double(value); isNumber {
				message += ", which is out of range: a year has at most four digits"
			}
			m.fail(i, Failure{Code: CodeExpression, Message: w.computed.field + message})
			return
		}
		until = notBefore(at)
	}
	if !until.After(m.at) {
		m.pass(i, "")
		return
	}
	m.pause(i, PauseWait, "", until.Sub(m.at))
}

// notBefore is the first instant to the millisecond that is not before the time.
func notBefore(at time.Time) time.Time { return truncated(at.Add(time.Millisecond - 1)) }

// maxInstant is the end of the year 9999 in milliseconds since 1970, after which a time has no
// spelling.
const maxInstant = 253402300799999

// readTime reads a time in ISO 8601, or milliseconds since 1970.
func readTime(value any) (at time.Time, ok bool) {
	if text, isText := value.(string); isText {
		return node.ParseTime(text)
	}
	ms, isNumber := double(value)
	if !isNumber || math.IsNaN(ms) || math.Abs(ms) > maxInstant {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(math.Ceil(ms))).UTC(), true
}

// described shows a value in a message: a short text or number in full.
func described(value any) string {
	const most = 60
	if text, err := appendValue(nil, value); err == nil && len(text) <= most {
		return string(text)
	}
	return kindOf(value)
}

// eventAction pauses until an event arrives.
type eventAction struct {
	event   string
	timeout time.Duration // 0 for none
}

func (l eventAction) begin(m *machine, i int) { m.pause(i, PauseEvent, l.event, l.timeout) }

// pause lets a node wait; a timeout of 0 means without end.
func (m *machine) pause(i int, kind PauseKind, event string, timeout time.Duration) {
	m.pauseFor(i, Pause{Kind: kind, Event: event}, timeout)
}

// pauseFor is pause for what is known of the pause.
func (m *machine) pauseFor(i int, p Pause, timeout time.Duration) {
	n := m.node(i)
	p.Since, p.Seq = m.at, m.s.Seq+1
	if timeout > 0 {
		until := truncated(m.at.Add(timeout))
		p.Until = &until
	}
	token := ""
	if p.Kind.ByOthers() {
		token = Token(m.secret, m.s.ID, n.ID, p.Seq)
		p.TokenHash = hashToken(token)
	}
	n.Status, n.Pause, n.Failure = NodeWaiting, &p, nil
	m.record(Entry{Type: EntryNodeWaiting, Node: n.ID, Until: p.Until, Question: p.Question})
	m.emit(DomainEvent{Type: RunPaused, Node: n.ID, Pause: &p, Token: token})
}

// resumed continues the node that the token belongs to.
func (m *machine) resumed(f Resumed) {
	i, known := m.s.nodeForToken(f.Token)
	if !known {
		m.step.Refused = UnknownToken()
		return
	}
	switch n := m.node(i); {
	case n.Status == NodeWaiting && !m.overdue(n):
		m.by = f.By
		m.step.Refused = m.answer(i, "input", f.Input)
		m.by = nil
	case n.Status == NodeWaiting || n.Status == NodeFailed && n.Failure.Code == CodeExpired:
		m.refuse(domain.Conflict, "expired", "The run has stopped waiting for this answer: it came too late.")
	default:
		m.step.Refused = notPaused()
	}
}

// nodeForToken finds the node that waits for a token, or did.
func (s *State) nodeForToken(token string) (place int, known bool) {
	hash := []byte(hashToken(token))
	for i := range s.Nodes {
		if p := s.Nodes[i].Pause; p != nil && p.TokenHash != "" && subtle.ConstantTimeCompare([]byte(p.TokenHash), hash) == 1 {
			return i, true
		}
	}
	return 0, false
}

// UnknownToken refuses a token. It is also the answer for a run that does not exist.
func UnknownToken() *domain.Error {
	return domain.Fail(domain.NotFound, "run_not_found", "There is no such run, or the token is not the one it waits for.")
}

func notPaused() *domain.Error {
	return domain.Fail(domain.Conflict, "not_paused", "The run does not wait for this answer any more.")
}

// RefuseToken says why a token does not resume a run whose version is gone: such a run has
// been cancelled.
func (r *Run) RefuseToken(token string) *domain.Error {
	if _, known := r.state.nodeForToken(token); known {
		return notPaused()
	}
	return UnknownToken()
}

// arrived continues the nodes that wait for an event.
func (m *machine) arrived(f EventArrived) {
	var named []int
	oldest, waiting := -1, false
	for i := range m.s.Nodes {
		n := m.node(i)
		if n.Status != NodeWaiting || !n.Pause.Kind.ByOthers() {
			continue
		}
		if m.overdue(n) {
			m.expired = append(m.expired, i)
			continue
		}
		waiting = true
		switch {
		case n.Pause.Event == f.Event && f.Event != "":
			named = append(named, i)
		case n.Pause.Event == "" && (oldest < 0 || n.Pause.Seq < m.node(oldest).Pause.Seq):
			oldest = i
		}
	}
	if len(named) == 0 && oldest >= 0 {
		named = []int{oldest}
	}
	switch {
	case len(named) > 0:
	case m.expiredFor(f.Event):
		m.refuse(domain.Conflict, "expired", "The run has stopped waiting for this event: it came too late.")
	case waiting:
		m.refuse(domain.Conflict, "wrong_event", "The run waits for another event.")
	default:
		m.refuse(domain.Conflict, "not_paused", "The run does not wait for an event or an answer.")
	}
	var refused *domain.Error
	taken := false
	for _, i := range named {
		if m.node(i).Status != NodeWaiting {
			continue // one before it ended the run
		}
		m.by = f.By
		problem := m.answer(i, "eventData", f.Data)
		if m.by = nil; problem == nil {
			taken = true
		} else if refused == nil {
			refused = problem
		}
	}
	if refused != nil && !taken {
		m.step.Refused = refused
	}
}

// expiredFor says whether a node has stopped waiting for the event in this step.
func (m *machine) expiredFor(event string) bool {
	for _, i := range m.expired {
		if p := m.node(i).Pause; p.Event == event || p.Event == "" {
			return true
		}
	}
	return false
}

// answer completes a waiting node with what was brought.
func (m *machine) answer(i int, field string, text json.RawMessage) *domain.Error {
	n := m.node(i)
	if a, asks := m.plan.nodes[i].action.(inputAction); asks {
		if q := n.Pause.Question; q != nil {
			a.form, a.single = node.RestoreForm(q.Form), q.Single
		}
		value, err := a.read(field, text)
		if err == nil {
			m.give(i, map[string]any{"value": value}, "")
		}
		return err
	}
	var data any
	if len(text) > 0 {
		tree, err := parse(text)
		if err != nil {
			var r domain.Rules
			r.Check(false, field, domain.BadFormat, "must be a JSON value")
			return &domain.Error{Kind: domain.Invalid, Code: CodeInputInvalid, Message: "The input is not valid.", Violations: r.Violations()}
		}
		data = tree
	}
	if e, calls := m.plan.nodes[i].action.(*effectAction); calls && e.promises() {
		fitted, found := e.fit(field, data)
		if len(found) > 0 {
			return &domain.Error{Kind: domain.Invalid, Code: CodeInputInvalid, Message: "The answer does not fit the output of the node that waits for it.", Violations: found}
		}
		data = fitted
	}
	if n.Pause.Kind == PauseEvent {
		data = map[string]any{"event": n.Pause.Event, "eventData": data}
	}
	m.give(i, data, "")
	return nil
}
