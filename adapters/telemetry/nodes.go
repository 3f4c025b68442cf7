package telemetry

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// customNode is the label of the nodes of all tenants, whose types clients make up.
const customNode = "custom"

// nodeLabel is the label of a type: that of a built-in one reads like http_request.
func nodeLabel(t node.Type) string {
	if !node.IsBuiltIn(string(t)) {
		return customNode
	}
	return strings.ToLower(capitals.ReplaceAllString(string(t), "${1}_$2"))
}

var capitals = regexp.MustCompile(`([a-z])([A-Z])`)

// How an attempt at a node ended.
const (
	nodeCompleted = "completed"
	nodeFailed    = "failed"  // whether or not it is tried again
	nodePaused    = "paused"  // it asks the run to pause
	nodeAborted   = "aborted" // it did not come to an end here: the run was cancelled, or the process is stopping
)

// nodeBuckets reach to the default time that an attempt may take. In seconds.
var nodeBuckets = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 31}

func newNodes(register promauto.Factory) *prometheus.HistogramVec {
	durations := register.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "node_attempt_duration_seconds",
		Help: "How long attempts at nodes that call out, or run code, took, by how they ended.", Buckets: nodeBuckets,
	}, []string{"node", "outcome"})
	nodes := []string{customNode}
	for _, n := range node.BuiltIns(tenant.English) {
		if n.HasEffect || n.Computes {
			nodes = append(nodes, nodeLabel(n.Type))
		}
	}
	for _, label := range nodes {
		for _, outcome := range []string{nodeCompleted, nodeFailed, nodePaused, nodeAborted} {
			durations.WithLabelValues(label, outcome)
		}
	}
	return durations
}

// NodeRunner returns a runner that does what the given one does, and counts how each attempt
// ends.
func (m *Metrics) NodeRunner(runner outbound.NodeRunner) outbound.NodeRunner {
	return countedRunner{runner, m}
}

type countedRunner struct {
	outbound.NodeRunner
	metrics *Metrics
}

// Run counts how the attempt ends.
func (r countedRunner) Run(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	began := time.Now()
	o, err := r.NodeRunner.Run(ctx, call)
	label, outcome := nodeLabel(call.Type), nodeOutcome(o, err)
	r.metrics.nodes.WithLabelValues(label, outcome).Observe(time.Since(began).Seconds())
	if label == customNode && outcome != nodeAborted {
		r.metrics.tenants.called(call.Tenant, tenantCustomNode, outcome != nodeFailed)
	}
	return o, err
}

func nodeOutcome(o outbound.NodeOutcome, err error) string {
	if err != nil {
		return nodeAborted
	}
	switch o.(type) {
	case outbound.NodeCompleted:
		return nodeCompleted
	case outbound.NodePaused:
		return nodePaused
	default:
		return nodeFailed
	}
}
