package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

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

// completionCall is what somebody is writing, and what it is tried with; nil for what is known.
type completionCall struct {
	workflow.CompletionCall
	sample *run.Sample
}

// completeVersion answers POST /workflow-versions/{id}/complete.
func (a *API) completeVersion(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, readCompletion)
	if err != nil {
		return err
	}
	ctx, held := c.Request.Context(), stream.Reserve(a.memory.Pages, who.Tenant())
	defer held.Release()
	return exchange.Execute(c, who, exchange.Command[inbound.Completed]{
		Status: http.StatusOK, Render: renderCompletion,
		Run: func(idempotency domain.IdempotencyKey) (done inbound.Completed, err error) {
			err = a.takeTurn(ctx, who.Tenant(), func(context.Context) error {
				done, err = a.ports.Completions.Complete(ctx, who, idempotency, versionID(c), call.CompletionCall, call.sample)
				return err
			})
			if err != nil {
				return done, err
			}
			waiting, stop := a.memory.Wait(ctx, errRunsBusy)
			defer stop()
			return done, held.Replace(waiting, len(done.Value)+len(done.Values)*inbound.MaxOfferedValue)
		},
	})
}

// takeTurn does what computes as a simulation does, when it is its turn. It may go on waiting
// with the context that it gets.
func (a *API) takeTurn(ctx context.Context, owner tenant.ID, do func(waiting context.Context) error) error {
	waiting, stop := a.memory.Wait(ctx, errRunsBusy)
	defer stop()
	if err := a.memory.Simulations.Reserve(waiting, owner, 1); err != nil {
		return err
	}
	defer a.memory.Simulations.Release(owner, 1)
	return do(waiting)
}

func readCompletion(body jsonread.Object) completionCall {
	var r domain.Rules
	var call completionCall
	id, _ := body.String("nodeId", &r)
	call.Node = workflow.NodeID(id)
	id, _ = body.String("edgeId", &r)
	call.Edge = workflow.EdgeID(id)
	call.Field, _ = body.String("field", &r)
	call.Text, _ = body.String("text", &r)
	if position, ok := body.OptionalObject("position", &r); ok {
		call.At = &workflow.Place{}
		call.At.Line, _ = position.Int("line", &r)
		call.At.Column, _ = position.Int("column", &r)
	}
	if sample, ok := body.OptionalObject("sample", &r); ok {
		call.sample = &run.Sample{Payload: optionalJSON(sample, "payload"), Nodes: map[workflow.NodeID]json.RawMessage{}}
		nodes, _ := sample.OptionalObject("nodes", &r)
		for name, output := range nodes.All() {
			call.sample.Nodes[workflow.NodeID(name)] = json.RawMessage(output.Text())
		}
	}
	call.Malformed = r.Violations()
	return call
}

// completionBody is what an editor can show at a place of a text.
type completionBody struct {
	Offers       []offerBody     `json:"offers"`
	IsIncomplete bool            `json:"isIncomplete"`
	Replace      rangeBody       `json:"replace"`
	Type         string          `json:"type,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
	ValueOmitted bool            `json:"valueOmitted,omitempty"`
	Problem      *problemBody    `json:"problem,omitempty"`
}

type offerBody struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Insert      string          `json:"insert"`
	Replace     *rangeBody      `json:"replace,omitempty"`
	Type        string          `json:"type,omitempty"`
	Signature   string          `json:"signature,omitempty"`
	Description string          `json:"description,omitempty"`
	Value       json.RawMessage `json:"value,omitempty"`
}

type rangeBody struct {
	From exchange.Position `json:"from"`
	To   exchange.Position `json:"to"`
}

// problemBody is why a text has no type, or no value.
type problemBody struct {
	Message  string             `json:"message"`
	Position *exchange.Position `json:"position,omitempty"`
}

func renderCompletion(done inbound.Completed) any {
	between := func(from, to int) rangeBody {
		a, b := done.PlaceOf(from), done.PlaceOf(to)
		return rangeBody{exchange.Position{Line: a.Line, Column: a.Column}, exchange.Position{Line: b.Line, Column: b.Column}}
	}
	body := completionBody{
		Offers: make([]offerBody, len(done.Offers.List)), IsIncomplete: done.Offers.Partial, Replace: between(done.Offers.From, done.Offers.To),
		Value: done.Value, ValueOmitted: done.IsLong,
	}
	switch checked := done.Checked; {
	case checked.Problem != "":
		body.Problem = &problemBody{checked.Problem, exchange.PositionOf(checked.At.Line, checked.At.Column)}
	default:
		body.Type = checked.Type.String()
		if done.Problem != "" {
			body.Problem = &problemBody{Message: done.Problem}
		}
	}
	for i, o := range done.Offers.List {
		offer := offerBody{Name: o.Name, Kind: string(o.Kind), Insert: o.Insert, Signature: o.Signature, Description: o.About, Value: done.Values[o.Name]}
		if o.From != done.Offers.From {
			replaced := between(o.From, done.Offers.To)
			offer.Replace = &replaced
		}
		if o.Signature == "" && o.Kind != workflow.OfferNamespace {
			offer.Type = o.Type.String()
		}
		body.Offers[i] = offer
	}
	return body
}
