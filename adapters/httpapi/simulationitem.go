package httpapi

import (
	"encoding/json"

	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// simulatedItemsBody is what became of the items of a node.
type simulatedItemsBody struct {
	NodeID string                `json:"nodeId"`
	Count  int                   `json:"count"`
	Items  []simulatedStatusBody `json:"items"`
}

type simulatedStatusBody struct {
	Index  int    `json:"index"`
	Status string `json:"status"`
}

func renderSimulatedItems(loops []run.SimulatedItems) []simulatedItemsBody {
	all := make([]simulatedItemsBody, len(loops))
	for i, l := range loops {
		all[i] = simulatedItemsBody{NodeID: string(l.Node), Count: l.Count, Items: make([]simulatedStatusBody, len(l.Items))}
		for j, item := range l.Items {
			all[i].Items[j] = simulatedStatusBody{Index: item.Index, Status: string(item.Status)}
		}
	}
	return all
}

// simulatedItemBody is what a simulation did for one item.
type simulatedItemBody struct {
	Status string       `json:"status"`
	Error  *failureBody `json:"error,omitempty"`

	OutputOmitted bool `json:"outputOmitted,omitempty"`

	output  json.RawMessage
	nodes   []runNodeBody
	history []entryBody
	loops   []simulatedItemsBody
}

func (b *simulatedItemBody) encodeTo(e *stream.Encoder) {
	e.Open(b)
	e.Document("output", b.output)
	e.List("nodes", len(b.nodes), func(i int) { b.nodes[i].encodeTo(e) })
	e.List("history", len(b.history), func(i int) { e.Value(&b.history[i]) })
	e.List("loops", len(b.loops), func(i int) { e.Value(&b.loops[i]) })
	e.Close()
}

// renderSimulatedItem renders the item that is shown; nil where there is none.
func renderSimulatedItem(s inbound.Simulated) *simulatedItemBody {
	if s.Item == nil {
		return nil
	}
	item := s.Item
	body := &simulatedItemBody{
		Status: string(item.Run.Status()), Error: renderFailure(item.Run.Failure()), loops: renderSimulatedItems(item.Loops),
		nodes: renderRunNodes(inbound.ShownRun{Run: item.Run, Logs: item.Run.Logs(item.History)}),
	}
	body.output, body.OutputOmitted = item.Run.Result(run.MaxOutput)
	for i, n := range body.nodes {
		body.nodes[i].input = s.ItemInputs[workflow.NodeID(n.NodeID)]
	}
	for _, e := range item.History {
		body.history = append(body.history, renderEntry(e))
	}
	return body
}
