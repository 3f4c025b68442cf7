package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// simulateVersion answers POST /workflow-versions/{id}/simulate.
func (a *API) simulateVersion(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, readSimulation)
	if err != nil {
		return err
	}
	id := exchange.PathID[workflow.VersionID](c, "id", workflow.VersionIDPrefix)
	ctx, held := c.Request.Context(), stream.Reserve(a.memory.Pages, who.Tenant())
	defer held.Release()
	return exchange.Execute(c, who, exchange.Command[inbound.Simulated]{
		Status: http.StatusOK, Render: renderSimulation,
		Run: func(idempotency domain.IdempotencyKey) (inbound.Simulated, error) {
			return a.holdSimulation(ctx, who.Tenant(), exchange.StateOf(c).Intake(), &held, func() (inbound.Simulated, error) {
				return a.ports.Trying.Simulate(ctx, who, idempotency, id, call)
			})
		},
	})
}

// holdSimulation simulates when a turn is free, and reserves memory for the result, or for
// the record of it. The memory for the simulation replaces that of its body, and is given
// back when the result is weighed.
func (a *API) holdSimulation(ctx context.Context, owner tenant.ID, intake, held *stream.Reservation, simulate func() (inbound.Simulated, error)) (found inbound.Simulated, err error) {
	err = a.takeTurn(ctx, owner, func(waiting context.Context) error {
		found, err = a.simulateIn(ctx, waiting, intake, held, simulate)
		return err
	})
	return found, err
}

// simulateIn does so in its turn.
func (a *API) simulateIn(ctx, waiting context.Context, intake, held *stream.Reservation, simulate func() (inbound.Simulated, error)) (inbound.Simulated, error) {
	if err := intake.Replace(waiting, a.memory.SimulationBytes); err != nil {
		return inbound.Simulated{}, err
	}
	defer intake.Release()
	found, err := simulate()
	size := 0
	var before *domain.Replay
	switch {
	case err == nil:
		for _, input := range found.Inputs {
			size += len(input)
		}
		for _, input := range found.ItemInputs {
			size += len(input)
		}
		if found.Item != nil {
			size += weight(found.Item.Run, 0)
		}
		size = weight(found.Run, size)
	case errors.As(err, &before) && len(before.Answer) > smallRun:
		size = len(before.Answer)
	}
	waiting, stopped := a.memory.Wait(ctx, errRunsBusy) // how long it took does not count
	defer stopped()
	if busy := held.Replace(waiting, size); busy != nil {
		return inbound.Simulated{}, busy
	}
	return found, err
}

func readSimulation(body jsonread.Object) run.SimulationCall {
	var r domain.Rules
	call := run.SimulationCall{Call: readVersionCall(body, &r)}
	if id := body.OptionalString("triggerId", &r); id != nil {
		if call.Trigger = exchange.KnownID[trigger.ID](*id, trigger.IDPrefix); call.Trigger == "" {
			call.Trigger = noTrigger
		}
	}
	if text := body.OptionalString("startAt", &r); text != nil {
		at, _ := exchange.ReadTime(*text, "startAt", &r)
		call.At = &at
	}
	answers, _ := body.OptionalObject("answers", &r)
	for name, value := range answers.All() {
		list, ok := value.Array(&r)
		if !ok {
			continue
		}
		if call.Answers == nil {
			call.Answers = make(map[workflow.NodeID][]run.Answer)
		}
		for _, answer := range list.Objects(&r) {
			call.Answers[workflow.NodeID(name)] = append(call.Answers[workflow.NodeID(name)], readAnswer(answer, &r))
		}
	}
	if list, ok := body.OptionalArray("item", &r); ok {
		for _, place := range list.Objects(&r) {
			node, _ := place.String("nodeId", &r)
			index, _ := place.Int("index", &r)
			call.Shown = append(call.Shown, run.ItemPlace{Node: workflow.NodeID(node), Index: index})
		}
	}
	call.Malformed = r.Violations()
	return call
}

// readAnswer reads what the world does: output, error or pause, after a while.
func readAnswer(o jsonread.Object, r *domain.Rules) run.Answer {
	answer := run.Answer{Output: optionalJSON(o, "output"), After: readMilliseconds(o, "afterMs", 0, r)}
	failure, failed := o.OptionalObject("error", r)
	if failed {
		f := run.AttemptFailed{Code: "failed", Message: "the simulated attempt failed"}
		if code := failure.OptionalString("code", r); code != nil {
			f.Code = *code
		}
		if message := failure.OptionalString("message", r); message != nil {
			f.Message = *message
		}
		f.Retryable, _ = failure.Bool("retryable", r)
		answer.Failure = &f
	}
	pause, paused := o.OptionalObject("pause", r)
	if paused {
		p := run.AttemptPaused{Timeout: readPauseTimeout(pause, r)}
		p.Event, _ = pause.String("event", r)
		answer.Pause = &p
	}
	given := 0
	for _, is := range []bool{answer.Output != nil, failed, paused} {
		if is {
			given++
		}
	}
	r.Check(given <= 1, o.Path(), domain.Conflicting, "must have at most one of output, error and pause")
	return answer
}

// maxPause is how long a custom node may ask for a run to pause.
const maxPause = 365 * 24 * time.Hour

func readPauseTimeout(o jsonread.Object, r *domain.Rules) time.Duration {
	const most = int(maxPause / time.Millisecond)
	n, given := o.Int("timeoutMs", r)
	field := domain.Member(o.Path(), "timeoutMs")
	r.Check(!given || n >= 1, field, domain.TooSmall, "must be at least 1, not %d", n)
	r.Check(n <= most, field, domain.TooLarge, "must be at most %d, not %d", most, n)
	return time.Duration(min(max(n, 0), most)) * time.Millisecond
}

// maxSimulated bounds times of a simulation: a hundred years.
const maxSimulated = 100 * 365 * 24 * time.Hour

func readMilliseconds(o jsonread.Object, name string, least time.Duration, r *domain.Rules) time.Duration {
	const most = int(maxSimulated / time.Millisecond)
	n, _ := o.Int(name, r)
	field := domain.Member(o.Path(), name)
	r.Check(n >= int(least/time.Millisecond), field, domain.TooSmall, "must be at least %d, not %d", least/time.Millisecond, n)
	r.Check(n <= most, field, domain.TooLarge, "must be at most %d, not %d", most, n)
	return time.Duration(min(max(n, 0), most)) * time.Millisecond
}

// simulationBody is what a simulation did.
type simulationBody struct {
	Status string       `json:"status"`
	Error  *failureBody `json:"error,omitempty"`

	OutputOmitted bool `json:"outputOmitted,omitempty"`

	output  json.RawMessage
	nodes   []runNodeBody
	history []entryBody
	effects []effectBody
	loops   []simulatedItemsBody
	item    *simulatedItemBody
	open    []string
	context contextBody
}

// EncodeTo writes the simulation.
func (b simulationBody) EncodeTo(e *stream.Encoder) {
	e.Open(&b)
	e.Document("output", b.output)
	e.List("nodes", len(b.nodes), func(i int) { b.nodes[i].encodeTo(e) })
	e.List("history", len(b.history), func(i int) { e.Value(&b.history[i]) })
	e.List("effects", len(b.effects), func(i int) { e.Value(&b.effects[i]) })
	e.List("loops", len(b.loops), func(i int) { e.Value(&b.loops[i]) })
	if b.item != nil {
		e.Name("item")
		b.item.encodeTo(e)
	}
	e.List("open", len(b.open), func(i int) { e.Value(b.open[i]) })
	b.context.encodeTo(e)
	e.Close()
	e.Limit(run.MaxSimulatedOutput, run.SimulationTooLarge())
}

// effectBody is an attempt that a real run would have made outside.
type effectBody struct {
	NodeID         string         `json:"nodeId"`
	Type           string         `json:"type"`
	Attempt        int            `json:"attempt"`
	At             string         `json:"at"`
	IdempotencyKey string         `json:"idempotencyKey"`
	Input          any            `json:"input"`
	Config         map[string]any `json:"config"`
	MayRepeat      bool           `json:"mayRepeat"`
}

func renderSimulation(s inbound.Simulated) any {
	body := simulationBody{
		Status: string(s.Run.Status()), Error: renderFailure(s.Run.Failure()), nodes: renderRunNodes(inbound.ShownRun{Run: s.Run, Logs: s.Run.Logs(s.History)}),
		open: texts(s.Open), context: renderContext(s.Run), loops: renderSimulatedItems(s.Loops), item: renderSimulatedItem(s),
	}
	body.output, body.OutputOmitted = s.Run.Result(run.MaxOutput)
	for i, n := range body.nodes {
		body.nodes[i].input = s.Inputs[workflow.NodeID(n.NodeID)]
	}
	for _, e := range s.History {
		body.history = append(body.history, renderEntry(e))
	}
	for _, e := range s.Effects {
		body.effects = append(body.effects, effectBody{
			NodeID: string(e.Node), Type: string(e.Type), Attempt: e.Attempt, At: exchange.Timestamp(e.At), IdempotencyKey: e.IdempotencyKey,
			Input: e.Input, Config: e.Config, MayRepeat: e.MayRepeat,
		})
	}
	return body
}
