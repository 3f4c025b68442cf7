package run

import (
	"hash/fnv"
	"math/bits"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// attempted finds the node whose attempt has a result, and refuses a result that is not
// expected.
func (m *machine) attempted(id workflow.NodeID, attempt int) (int, bool) {
	if i, known := m.plan.index[id]; known && i < len(m.s.Nodes) {
		if n := m.node(i); n.Status == NodeRunning && n.RetryAt == nil && n.Attempts == attempt {
			return i, true
		}
	}
	m.refuse(domain.Conflict, "attempt_stale", "Run %s does not wait for the result of attempt %d at node %q.", m.s.ID, attempt, id)
	return 0, false
}

// attempt begins one attempt at a node with an effect outside.
func (m *machine) attempt(i int) {
	n := m.node(i)
	wanted, failure := m.request(i)
	if failure != nil {
		m.fail(i, *failure)
		return
	}
	n.Status, n.RetryAt = NodeRunning, nil
	n.Attempts++
	wanted.Attempt = n.Attempts
	m.record(Entry{Type: EntryNodeStarted, Node: n.ID, Attempt: n.Attempts})
	wanted.leaveOut(&m.prepared)
	m.step.Execute = append(m.step.Execute, *wanted)
}

// attemptFailed plans the next attempt, or lets the node fail when there is none left or
// the run would time out by then: the node's failure says more than the timeout.
func (m *machine) attemptFailed(i int, f AttemptFailed) {
	n := m.node(i)
	failure := Failure{Code: f.Code, Message: f.Message, Node: n.ID}.storable()
	made := n.Attempts - n.AttemptsBeforeRetry
	retry := m.s.Retry
	if own := m.plan.nodes[i].retry; own != nil {
		retry = *own
	}
	if f.Retryable && made <= retry.MaxRetries {
		pause := max(backoff(retry, m.s.ID, n.ID, made-1, n.Attempts), f.RetryAfter)
		at := truncated(m.at.Add(pause))
		if deadline, active := m.run.deadline(); !active || at.Before(deadline) {
			n.Failure, n.RetryAt = &failure, &at
			m.record(Entry{Type: EntryNodeRetrying, Node: n.ID, Attempt: n.Attempts, Code: failure.Code, Message: failure.Message, Until: &at})
			return
		}
	}
	m.fail(i, failure)
}

func (m *machine) attemptPaused(i int, f AttemptPaused) {
	if e, ok := m.plan.nodes[i].action.(*effectAction); !ok || !e.kind.CanPause {
		m.fail(i, Failure{Code: CodePauseNotAllowed, Message: "The node asked to pause the run, but its type is not declared as one that can."})
		return
	}
	var r domain.Rules
	r.Text(f.Event, "event", 0, MaxEvent)
	if failure := invalid(CodeOutputInvalid, r.Violations()); failure != nil { // no event could ever have that name
		m.fail(i, *failure)
		return
	}
	m.pause(i, PauseCustom, f.Event, f.Timeout)
}

// backoff is how long to wait before another attempt: Backoff × 2^n, at most MaxBackoff,
// less up to a half by a hash, so that runs that failed together are not repeated
// together.
func backoff(p workflow.RetryPolicy, id ID, node workflow.NodeID, n, attempt int) time.Duration {
	wait := p.MaxBackoff
	if n < 32 && p.Backoff <= p.MaxBackoff>>n {
		wait = p.Backoff << n
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(id) + ":" + string(node) + ":" + strconv.Itoa(attempt))) // a hash takes everything
	mixed := h.Sum64()
	mixed ^= mixed >> 32
	mixed *= 0x9e3779b97f4a7c15 // spreads the last bytes, which differ, over the high bits
	less, _ := bits.Mul64(mixed, uint64(wait/2))
	return wait - time.Duration(less)
}
