package telemetry

import (
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// NodeKind is a label for the nodes that attempts are made at: the type of a
// built-in one, such as http_request, or [NodeCustom].
type NodeKind string

// NodeCustom stands for the nodes of all tenants, whose types clients make up.
const NodeCustom NodeKind = "custom"

// NodeKindOf is the kind of a type.
func NodeKindOf(t node.Type) NodeKind {
	if !node.IsBuiltIn(string(t)) {
		return NodeCustom
	}
	return NodeKind(strings.ToLower(capitals.ReplaceAllString(string(t), "${1}_$2")))
}

var capitals = regexp.MustCompile(`([a-z])([A-Z])`)

func nodeKinds() []NodeKind {
	kinds := []NodeKind{NodeCustom}
	for _, n := range node.BuiltIns(tenant.English) {
		if n.HasEffect || n.Computes {
			kinds = append(kinds, NodeKindOf(n.Type))
		}
	}
	return kinds
}

// NodeOutcome says how an attempt at a node ended.
type NodeOutcome string

// The outcomes of an attempt at a node.
const (
	NodeCompleted NodeOutcome = "completed"
	NodeFailed    NodeOutcome = "failed"  // whether or not it is tried again
	NodePaused    NodeOutcome = "paused"  // it asks the run to pause
	NodeAborted   NodeOutcome = "aborted" // it did not come to an end here: the run was cancelled, or the process is stopping
)

// NodeAttempted counts an attempt at a node, and how long it took. A kind or outcome
// that does not exist is not counted.
func (m *Metrics) NodeAttempted(k NodeKind, o NodeOutcome, took time.Duration) {
	if observer, ok := m.nodes.took[nodeSeries{k, o}]; ok {
		observer.Observe(took.Seconds())
	}
}

type nodeSeries struct {
	kind    NodeKind
	outcome NodeOutcome
}

// nodes measures attempts at nodes. Every series exists from the start, at 0.
type nodes struct {
	durations *prometheus.HistogramVec
	took      map[nodeSeries]prometheus.Observer
}

// nodeBuckets reach to the default time that an attempt may take. In seconds.
var nodeBuckets = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 31}

func newNodes() nodes {
	n := nodes{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: "node", Name: "attempt_duration_seconds",
			Help: "How long attempts at nodes that call out, or run code, took, by how they ended.", Buckets: nodeBuckets,
		}, []string{"node", "outcome"}),
		took: make(map[nodeSeries]prometheus.Observer),
	}
	for _, k := range nodeKinds() {
		for _, o := range []NodeOutcome{NodeCompleted, NodeFailed, NodePaused, NodeAborted} {
			n.took[nodeSeries{k, o}] = n.durations.WithLabelValues(string(k), string(o))
		}
	}
	return n
}

func (n *nodes) collectors() []prometheus.Collector { return []prometheus.Collector{n.durations} }
