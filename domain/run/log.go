package run

import (
	"slices"

	"github.com/sluicehq/sluice/domain/workflow"
)

// Bounds of what is kept of what an attempt wrote to its log.
const (
	MaxLogLines = 100
	MaxLogBytes = 16 << 10 // of all lines together
)

// NewLog is as much of the lines as is kept, as texts that every store can keep. Where
// something is left out, the last line ends with an ellipsis.
func NewLog(lines []string) []string {
	const mark = "…"
	var kept []string
	left := MaxLogBytes - len(mark)
	for i, line := range lines {
		if i == MaxLogLines {
			kept[i-1] += mark
			break
		}
		line = storable(line, MaxLogBytes)
		if len(line) > left {
			cut := left
			for cut > 0 && line[cut]&0xc0 == 0x80 { // within a character
				cut--
			}
			return append(kept, line[:cut]+mark)
		}
		left -= len(line)
		kept = append(kept, line)
	}
	return kept
}

// keepOutcome keeps what an attempt at a node wrote, and whether a secret was taken out of its
// answer, with the entry that says how it ended.
func (m *machine) keepOutcome(i int, lines []string, redacted bool) {
	m.log, m.redacted = NewLog(lines), redacted
	n := m.node(i)
	n.Logged, n.Redacted = len(m.log) > 0, redacted
}

// Logs collects the logs of the nodes whose last attempt wrote one: what the history has last
// of each.
func (r *Run) Logs(history []Entry) map[workflow.NodeID][]string {
	logs := make(map[workflow.NodeID][]string)
	r.AddLogs(logs, history)
	return logs
}

// AddLogs does so with what follows in the history.
func (r *Run) AddLogs(logs map[workflow.NodeID][]string, history []Entry) {
	for _, e := range history {
		if len(e.Log) > 0 {
			logs[e.Node] = e.Log
		}
	}
	for i := range r.state.Nodes {
		if n := &r.state.Nodes[i]; !n.Logged {
			delete(logs, n.ID)
		}
	}
}

// Logged says whether the history has logs to collect.
func (r *Run) Logged() bool {
	return slices.ContainsFunc(r.state.Nodes, func(n NodeState) bool { return n.Logged })
}
