package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// testNode answers POST /workflow-versions/{id}/nodes/{nodeId}/test.
func (a *API) testNode(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, readNodeTest)
	if err != nil {
		return err
	}
	id, of := exchange.PathID[workflow.VersionID](c, "id", workflow.VersionIDPrefix), workflow.NodeID(c.Param("nodeId"))
	ctx, held := c.Request.Context(), stream.Reserve(a.memory.Pages, who.Tenant())
	defer held.Release()
	hold := func(size int) bool {
		waiting, stop := a.memory.Wait(ctx, errRunsBusy)
		defer stop()
		return size <= smallRun || held.Replace(waiting, size) == nil
	}
	return exchange.Execute(c, who, exchange.Command[inbound.TestedNode]{
		Status: http.StatusOK, Render: renderTestedNode,
		Run: func(idempotency domain.IdempotencyKey) (inbound.TestedNode, error) {
			return a.ports.Trying.TestNode(ctx, who, idempotency, id, of, call, hold)
		},
	})
}

func readNodeTest(body jsonread.Object) run.NodeTestCall {
	var r domain.Rules
	call := run.NodeTestCall{
		Input: optionalJSON(body, "input"), Payload: optionalJSON(body, "payload"), Item: optionalJSON(body, "item"), Index: body.OptionalInt("index", &r),
	}
	nodes, _ := body.OptionalObject("nodes", &r)
	for name, output := range nodes.All() {
		if call.Nodes == nil {
			call.Nodes = make(map[workflow.NodeID]json.RawMessage)
		}
		call.Nodes[workflow.NodeID(name)] = json.RawMessage(output.Text())
	}
	call.Malformed = r.Violations()
	return call
}

// testedNodeBody is what came of a test, as a node of a run shows it.
type testedNodeBody struct {
	runNodeBody
	Duration      int64 `json:"durationMs"`
	OutputOmitted bool  `json:"outputOmitted,omitempty"`
}

// EncodeTo writes the node.
func (b testedNodeBody) EncodeTo(e *stream.Encoder) {
	e.Open(&b)
	e.Document("input", b.input)
	e.Document("output", b.output)
	e.Close()
}

func renderTestedNode(t inbound.TestedNode) any {
	nodes := renderRunNodes(t.ShownRun)
	at := slices.IndexFunc(nodes, func(n runNodeBody) bool { return n.NodeID == string(t.Node) })
	body := testedNodeBody{runNodeBody: nodes[at], Duration: t.Took.Milliseconds(), OutputOmitted: t.OutputOmitted}
	if t.OutputOmitted {
		body.output = nil
	}
	return body
}
