package httpapi

import (
	"encoding/json"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// runSummaryBody is a run as lists show it.
type runSummaryBody struct {
	ID                string       `json:"id"`
	TenantID          string       `json:"tenantId"`
	SubTenantID       string       `json:"subTenantId,omitempty"`
	WorkflowID        string       `json:"workflowId"`
	WorkflowVersionID string       `json:"workflowVersionId"`
	TriggerID         string       `json:"triggerId,omitempty"`
	RerunOf           string       `json:"rerunOf,omitempty"`
	ReplayOf          string       `json:"replayOf,omitempty"`
	EntityID          string       `json:"entityId"`
	DedupeKey         string       `json:"dedupeKey,omitempty"`
	ParentRunID       string       `json:"parentRunId,omitempty"`
	ParentNodeID      string       `json:"parentNodeId,omitempty"`
	Index             *int         `json:"index,omitempty"`
	Cause             string       `json:"cause"`
	Status            string       `json:"status"`
	Error             *failureBody `json:"error,omitempty"`
	Seq               int64        `json:"seq"`
	CreatedAt         string       `json:"createdAt"`
	UpdatedAt         string       `json:"updatedAt"`
	StartedAt         string       `json:"startedAt,omitempty"`
	FinishedAt        string       `json:"finishedAt,omitempty"`
}

// failureBody says why a node or a run failed; a list of runs does not know the edge.
type failureBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	NodeID  string `json:"nodeId,omitempty"`
	EdgeID  string `json:"edgeId,omitempty"`
}

func renderFailure(f *run.Failure) *failureBody {
	if f == nil {
		return nil
	}
	return &failureBody{Code: f.Code, Message: f.Message, NodeID: string(f.Node), EdgeID: string(f.Edge)}
}

func renderSummary(s run.Summary) any { return summaryBody(s) }

func summaryBody(s run.Summary) runSummaryBody {
	return runSummaryBody{
		ID: string(s.ID), TenantID: string(s.Tenant), SubTenantID: string(s.SubTenant), WorkflowID: string(s.Workflow),
		WorkflowVersionID: string(s.Version), TriggerID: string(s.Trigger), RerunOf: string(s.RerunOf), ReplayOf: s.ReplayOf, EntityID: s.Entity, DedupeKey: s.DedupeKey,
		ParentRunID: string(s.Parent), ParentNodeID: string(s.ParentNode), Index: s.Index, Cause: string(s.Cause), Status: string(s.Status), Error: renderFailure(s.Failure), Seq: s.Seq,
		CreatedAt: exchange.Timestamp(s.CreatedAt), UpdatedAt: exchange.Timestamp(s.UpdatedAt),
		StartedAt: exchange.OptionalTimestamp(s.StartedAt), FinishedAt: exchange.OptionalTimestamp(s.FinishedAt),
	}
}

// runBody is a whole run. What its nodes gave is in it twice, by node and in its context,
// and what nodes passed on as often again for each of them.
type runBody struct {
	runSummaryBody
	Engine        string `json:"engine"`
	Retries       int    `json:"retries"`
	OutputOmitted bool   `json:"outputOmitted,omitempty"`

	output  json.RawMessage
	context contextBody
	nodes   []runNodeBody
}

// runMembers are the members that a whole run is written with.
type runMembers struct {
	runBody
	Output  json.RawMessage `json:"output"`
	Context json.RawMessage `json:"context"`
	Nodes   json.RawMessage `json:"nodes"`
}

// EncodeTo writes the run.
func (b runBody) EncodeTo(e *stream.Encoder) {
	e.Open(&b)
	e.Document("output", b.output)
	b.context.encodeTo(e)
	e.List("nodes", len(b.nodes), func(i int) { b.nodes[i].encodeTo(e) })
	e.Close()
}

// contextBody is the context of a run, with what [run.Run.Data] walks as its data.
type contextBody struct {
	run *run.Run
	ids contextIDs
}

// contextIDs says whose the context is.
type contextIDs struct {
	RunID    string            `json:"runId"`
	EntityID string            `json:"entityId"`
	TenantID string            `json:"tenantId"`
	Executed []workflow.NodeID `json:"executedNodes"`
}

func renderContext(r *run.Run) contextBody {
	return contextBody{r, contextIDs{
		RunID: string(r.ID()), EntityID: r.Entity(), TenantID: string(r.Tenant()), Executed: append([]workflow.NodeID{}, r.Executed()...),
	}}
}

// encodeTo writes the context as another member.
func (b *contextBody) encodeTo(e *stream.Encoder) {
	e.Name("context")
	e.Text(`{"data":{`)
	before, name := "", workflow.NodeID("")
	for id, document := range b.run.Data() {
		name = id
		e.Text(before)
		e.Value(&name)
		e.Text(":")
		e.Raw(document)
		before = ","
	}
	e.Text(`},"metadata":`)
	e.Value(&b.ids)
	e.Close()
}

// runNodeBody is what became of one node.
type runNodeBody struct {
	NodeID      string       `json:"nodeId"`
	Status      string       `json:"status"`
	Attempts    int          `json:"attempts"`
	Branch      string       `json:"branch,omitempty"`
	Error       *failureBody `json:"error,omitempty"`
	IsHandled   bool         `json:"isHandled,omitempty"`
	IsTakenOver bool         `json:"isTakenOver,omitempty"`
	StartedAt   string       `json:"startedAt,omitempty"`
	FinishedAt  string       `json:"finishedAt,omitempty"`
	NextAttempt string       `json:"nextAttemptAt,omitempty"`
	Waiting     *waitingBody `json:"waiting,omitempty"`
	Log         []string     `json:"log,omitempty"`
	Redacted    bool         `json:"redacted,omitempty"`
	AnsweredBy  *actorBody   `json:"answeredBy,omitempty"`

	InputOmitted string `json:"inputOmitted,omitempty"`

	input  json.RawMessage
	output json.RawMessage
}

func (b *runNodeBody) encodeTo(e *stream.Encoder) {
	e.Open(b)
	e.Document("input", b.input)
	e.Document("output", b.output)
	e.Close()
}

// waitingBody is what a paused node waits for.
type waitingBody struct {
	Kind        string `json:"kind"`
	Event       string `json:"event,omitempty"`
	Since       string `json:"since"`
	RunID       string `json:"runId,omitempty"`
	Until       string `json:"until,omitempty"`
	ResumeToken string `json:"resumeToken,omitempty"`

	PauseID  string        `json:"pauseId,omitempty"`
	Question *questionBody `json:"question,omitempty"`
}

func renderRun(s inbound.ShownRun) any {
	output, omitted := s.Run.Result(run.MaxOutput)
	return runBody{
		runSummaryBody: summaryBody(s.Run.Summary()), Engine: string(s.Run.Engine()), Retries: s.Run.Retries(), OutputOmitted: omitted,
		output: output, context: renderContext(s.Run), nodes: renderRunNodes(s),
	}
}

func renderRunNodes(s inbound.ShownRun) []runNodeBody {
	all := []runNodeBody{}
	for _, n := range s.Run.Nodes() {
		body := runNodeBody{
			NodeID: string(n.ID), Status: string(n.Status), Attempts: n.Attempts, Branch: n.Branch,
			Error: renderFailure(n.Failure), IsHandled: n.Handled, IsTakenOver: n.TakenOver,
			StartedAt: exchange.OptionalTimestamp(n.StartedAt), FinishedAt: exchange.OptionalTimestamp(n.FinishedAt), NextAttempt: exchange.OptionalTimestamp(n.RetryAt), Log: s.Logs[n.ID], Redacted: n.Redacted,
		}
		body.input, body.InputOmitted = s.Inputs[n.ID].Input, string(s.Inputs[n.ID].Omitted)
		if output, ok := s.Run.Output(n.ID); ok {
			body.output = output
		}
		if p := n.Pause; p != nil && n.Status == run.NodeWaiting {
			body.Waiting = &waitingBody{
				Kind: string(p.Kind), Event: p.Event, RunID: string(p.Run), Since: exchange.Timestamp(p.Since), Until: exchange.OptionalTimestamp(p.Until), ResumeToken: s.Tokens[n.ID],
				Question: renderQuestion(p.Question),
			}
			if p.Kind == run.PauseInput {
				body.Waiting.PauseID = string(run.NewPauseID(s.Run.ID(), p.Seq))
			}
		}
		if p := n.Pause; p != nil && n.Status == run.NodeCompleted {
			body.AnsweredBy = renderActor(p.AnsweredBy)
		}
		all = append(all, body)
	}
	return all
}

// entryBody is one line of a run's history.
type entryBody struct {
	Seq     int64    `json:"seq"`
	Type    string   `json:"type"`
	At      string   `json:"at"`
	NodeID  string   `json:"nodeId,omitempty"`
	EdgeID  string   `json:"edgeId,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Branch  string   `json:"branch,omitempty"`
	Code    string   `json:"code,omitempty"`
	Message string   `json:"message,omitempty"`
	Until   string   `json:"until,omitempty"`
	Log     []string `json:"log,omitempty"`

	Question *questionBody `json:"question,omitempty"`
	By       *actorBody    `json:"by,omitempty"`

	Redacted bool `json:"redacted,omitempty"`
}

func renderEntry(e run.Entry) entryBody {
	return entryBody{
		Seq: e.Seq, Type: string(e.Type), At: exchange.Timestamp(e.At), NodeID: string(e.Node), EdgeID: string(e.Edge), Attempt: e.Attempt,
		Branch: e.Branch, Code: e.Code, Message: e.Message, Until: exchange.OptionalTimestamp(e.Until), Log: e.Log, Redacted: e.Redacted,
		Question: renderQuestion(e.Question), By: renderActor(e.By),
	}
}
