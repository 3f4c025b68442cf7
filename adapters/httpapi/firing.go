package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// readCall reads what every call that starts a run may bring. What is wrong with the
// types goes into the call, to be reported with the rest.
func readCall(body jsonread.Object, r *domain.Rules) run.Call {
	return run.Call{
		EventData: optionalJSON(body, "eventData"),
		Entity:    body.OptionalString("entityId", r),
		DedupeKey: body.OptionalString("dedupeKey", r),
	}
}

// optionalJSON returns a member of any type as it was sent, nil when it is absent.
func optionalJSON(body jsonread.Object, name string) json.RawMessage {
	value, ok := body.Get(name)
	if !ok {
		return nil
	}
	return json.RawMessage(value.Text())
}

func readEventCall(body jsonread.Object, r *domain.Rules) run.EventCall {
	c := run.EventCall{Call: readCall(body, r)}
	c.Event, _ = body.String("event", r)
	if sub := body.OptionalString("subTenantId", r); sub != nil {
		id := tenant.SubTenantID(*sub)
		c.SubTenant = &id
	}
	return c
}

// knowsNone says whether the body has members, and none that [readCall] reads.
func knowsNone(body jsonread.Object) bool {
	return !body.Empty() && !body.Has("eventData") && !body.Has("entityId") && !body.Has("dedupeKey")
}

// firedBody is what a webhook call is answered with.
type firedBody struct {
	DedupeKey string `json:"dedupeKey"`
	RunID     string `json:"runId,omitempty"`
	Filtered  bool   `json:"filtered,omitempty"`
	Skipped   string `json:"skipped,omitempty"`
}

func renderFired(f run.Fired) any {
	body := firedBody{DedupeKey: f.DedupeKey, RunID: string(f.Run), Filtered: f.Skipped == run.SkipFiltered}
	if f.Skipped == run.SkipConcurrency {
		body.Skipped = f.Skipped
	}
	return body
}

func triggerCall(body jsonread.Object) run.Call {
	var r domain.Rules
	call := readCall(body, &r)
	call.Malformed, call.OnlyUnknownMembers = r.Violations(), knowsNone(body)
	return call
}

// versionCall reads what a run of one version is started with.
func versionCall(body jsonread.Object) run.Call {
	var r domain.Rules
	call := readVersionCall(body, &r)
	call.Malformed = r.Violations()
	return call
}

// readVersionCall takes the payload under the name that it has where a run is repeated or a node
// tested, too.
func readVersionCall(body jsonread.Object, r *domain.Rules) run.Call {
	call := readCall(body, r)
	if payload := optionalJSON(body, "payload"); payload != nil {
		r.Check(call.EventData == nil, "payload", domain.Conflicting, "must be left out where there is eventData, which is another name of it")
		call.EventData = payload
	}
	return call
}

// callTrigger answers POST /triggers/{id}/webhook.
func (a *API) callTrigger(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, triggerCall)
	if err != nil {
		return err
	}
	id := exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix)
	return exchange.Execute(c, who, exchange.Command[run.Fired]{
		Status: http.StatusOK, Render: renderFired,
		Run: func(idempotency domain.IdempotencyKey) (run.Fired, error) {
			fired, err := a.ports.Firing.Call(c.Request.Context(), who, idempotency, id, call)
			exchange.StateOf(c).Run = string(fired.Run)
			return fired, err
		},
	})
}

// firedTriggerBody is a trigger that an event fired.
type firedTriggerBody struct {
	TriggerID string `json:"triggerId"`
	DedupeKey string `json:"dedupeKey"`
	RunID     string `json:"runId"`
}

// renderFiredTriggers lists those that started a run apart from those that did not.
func renderFiredTriggers(fired []run.Fired) (started []firedTriggerBody, skipped []skipBody) {
	started, skipped = []firedTriggerBody{}, []skipBody{}
	for _, f := range fired {
		if f.Skipped != "" {
			skipped = append(skipped, skipBody{TriggerID: string(f.Trigger), RunID: string(f.Run), Reason: f.Skipped, Details: detailsOf(f.Problems)})
			continue
		}
		started = append(started, firedTriggerBody{TriggerID: string(f.Trigger), DedupeKey: f.DedupeKey, RunID: string(f.Run)})
	}
	return started, skipped
}

// byEventBody lists the triggers that an event fired, and those that it did not although they
// listen for it.
type byEventBody struct {
	Total    int                `json:"total"`
	Triggers []firedTriggerBody `json:"triggers"`
	Skipped  []skipBody         `json:"skipped"`
}

func renderByEvent(fired []run.Fired) any {
	started, skipped := renderFiredTriggers(fired)
	return byEventBody{Total: len(started), Triggers: started, Skipped: skipped}
}

func eventCall(body jsonread.Object) run.EventCall {
	var r domain.Rules
	call := readEventCall(body, &r)
	call.Malformed = r.Violations()
	return call
}

// fireByEvent answers POST /triggers/webhook/by-event.
func (a *API) fireByEvent(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, eventCall)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[[]run.Fired]{
		Status: http.StatusOK, Render: renderByEvent,
		Run: func(idempotency domain.IdempotencyKey) ([]run.Fired, error) {
			return a.ports.Firing.ByEvent(c.Request.Context(), who, idempotency, call)
		},
	})
}

// ingestedBody says what became of an event.
type ingestedBody struct {
	Resumed   []resumedBody      `json:"resumed"`
	Triggered []firedTriggerBody `json:"triggered"`
	Skipped   []skipBody         `json:"skipped"`
	Truncated bool               `json:"skippedTruncated,omitempty"`
}

type resumedBody struct {
	RunID             string `json:"runId"`
	EntityID          string `json:"entityId"`
	WorkflowVersionID string `json:"workflowVersionId"`
}

type skipBody struct {
	TriggerID string                 `json:"triggerId,omitempty"`
	RunID     string                 `json:"runId,omitempty"`
	Reason    string                 `json:"reason"`
	Details   []exchange.ErrorDetail `json:"details,omitempty"`
}

func detailsOf(problems []domain.Violation) (details []exchange.ErrorDetail) {
	for _, v := range problems {
		details = append(details, exchange.ErrorDetail{Field: v.Field, Message: v.Message, Code: string(v.Code)})
	}
	return details
}

func renderIngested(in run.Ingested) any {
	started, skipped := renderFiredTriggers(in.Triggered)
	body := ingestedBody{Resumed: []resumedBody{}, Triggered: started, Skipped: []skipBody{}, Truncated: in.Truncated}
	for _, r := range in.Resumed {
		body.Resumed = append(body.Resumed, resumedBody{RunID: string(r.Run), EntityID: r.Entity, WorkflowVersionID: string(r.Version)})
	}
	for _, s := range in.Skipped {
		body.Skipped = append(body.Skipped, skipBody{RunID: string(s.Run), Reason: s.Reason, Details: detailsOf(s.Problems)})
	}
	body.Skipped = append(body.Skipped, skipped...)
	return body
}

// ingestEvent answers POST /triggers/ingest.
func (a *API) ingestEvent(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, ingestCall)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[run.Ingested]{
		Status: http.StatusOK, Render: renderIngested,
		Run: func(idempotency domain.IdempotencyKey) (run.Ingested, error) {
			return a.ports.Firing.Ingest(c.Request.Context(), who, idempotency, call)
		},
	})
}

func ingestCall(body jsonread.Object) run.IngestCall {
	var r domain.Rules
	call := run.IngestCall{EventCall: readEventCall(body, &r), Options: readResumeOptions(body, &r)}
	call.Malformed = r.Violations()
	return call
}

func readResumeOptions(body jsonread.Object, r *domain.Rules) (o run.ResumeOptions) {
	options, _ := body.OptionalObject("resumeOptions", r)
	o.All, _ = options.Bool("resumeAll", r)
	runs, _ := options.OptionalArray("runIds", r)
	for _, id := range runs.Strings(r) {
		o.Runs = append(o.Runs, run.ID(id))
	}
	versions, _ := options.OptionalArray("workflowVersionIds", r)
	for _, id := range versions.Strings(r) {
		o.Versions = append(o.Versions, workflow.VersionID(id))
	}
	return o
}

// resumeRun answers POST /triggers/resume.
func (a *API) resumeRun(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, resumeCall)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[nothing]{
		Status: http.StatusNoContent, Render: func(nothing) any { return nothing{} },
		Run: func(idempotency domain.IdempotencyKey) (nothing, error) {
			return nothing{}, a.ports.Runs.Resume(c.Request.Context(), who, idempotency, call)
		},
		Record: func(any) any { return nothing{} },
	})
}

func resumeCall(body jsonread.Object) run.ResumeCall {
	var r domain.Rules
	id, _ := body.String("runId", &r)
	token, _ := body.String("resumeToken", &r)
	call := run.ResumeCall{Run: exchange.KnownID[run.ID](id, run.IDPrefix), Token: token, Input: optionalJSON(body, "input"), Malformed: r.Violations()}
	if id != "" && call.Run == "" {
		call.Run = noRun
	}
	return call
}

// nothing is the result of a command that has none.
type nothing struct{}

// startRun answers POST /workflows/{id}/runs.
func (a *API) startRun(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, manualCall)
	if err != nil {
		return err
	}
	id := exchange.PathID[workflow.ID](c, "id", workflow.IDPrefix)
	return exchange.Execute(c, who, exchange.Command[*run.Run]{
		Status: http.StatusCreated, Render: func(r *run.Run) any { return renderRun(shown(r)) },
		Run: func(idempotency domain.IdempotencyKey) (*run.Run, error) {
			started, err := a.ports.Firing.Start(c.Request.Context(), who, idempotency, id, call)
			return noteStarted(c, started), err
		},
	})
}

// noteStarted notes for the log which run a request has started; nil for none.
func noteStarted(c *gin.Context, started *run.Run) *run.Run {
	if started != nil {
		exchange.StateOf(c).Run = string(started.ID())
	}
	return started
}

func manualCall(body jsonread.Object) run.ManualCall {
	var r domain.Rules
	call := run.ManualCall{Call: readCall(body, &r)}
	if version := body.OptionalString("workflowVersionId", &r); version != nil {
		if call.Version = exchange.KnownID[workflow.VersionID](*version, workflow.VersionIDPrefix); call.Version == "" {
			call.Version = noVersion
		}
	}
	call.Malformed = r.Violations()
	return call
}

// startVersionRun answers POST /workflow-versions/{id}/runs.
func (a *API) startVersionRun(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, versionCall)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*run.Run]{
		Status: http.StatusCreated, Render: func(r *run.Run) any { return renderRun(shown(r)) },
		Run: func(once domain.IdempotencyKey) (*run.Run, error) {
			started, err := a.ports.Firing.StartVersion(c.Request.Context(), who, once, versionID(c), call)
			return noteStarted(c, started), err
		},
	})
}

// rerunRun answers POST /runs/{id}/rerun.
func (a *API) rerunRun(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadResource[runMembers](c, readRerun)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[run.Summary]{
		Status: http.StatusCreated, Render: renderSummary,
		Run: func(once domain.IdempotencyKey) (run.Summary, error) {
			started, err := a.ports.Firing.Rerun(c.Request.Context(), who, once, runID(c), call)
			exchange.StateOf(c).Run = string(started.ID)
			return started, err
		},
	})
}

func readRerun(body jsonread.Object) run.RerunCall {
	var r domain.Rules
	call := run.RerunCall{
		From: (*workflow.NodeID)(body.OptionalString("from", &r)), Version: (*run.RerunVersion)(body.OptionalString("version", &r)),
		Payload: optionalJSON(body, "payload"),
	}
	call.Malformed = r.Violations()
	return call
}
