package run

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// DecodeProgress reads what [EncodeProgress] wrote.
func DecodeProgress(text []byte) (Progress, error) {
	var e encodedProgress
	if err := json.Unmarshal(text, &e); err != nil {
		return Progress{}, fmt.Errorf("run: decode progress: %w", err)
	}
	return e.progress(), nil
}

// instant is a time in Unix milliseconds.
type instant int64

func (i *instant) time() *time.Time {
	if i == nil {
		return nil
	}
	t := time.UnixMilli(int64(*i)).UTC()
	return &t
}

func span(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

type encodedFailure struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Node    workflow.NodeID `json:"node"`
	Edge    workflow.EdgeID `json:"edge"`
}

func (e *encodedFailure) failure() *Failure {
	if e == nil {
		return nil
	}
	return &Failure{Code: e.Code, Message: e.Message, Node: e.Node, Edge: e.Edge}
}

type encodedProgress struct {
	Retries     int               `json:"retries"`
	Begin       []int             `json:"begin"`
	Consider    []int             `json:"consider"`
	Calls       int               `json:"calls"`
	Used        int64             `json:"used"`
	ActiveSince *instant          `json:"activeSince"`
	Executed    []workflow.NodeID `json:"executed"`
	Result      []workflow.NodeID `json:"result"`
	Nodes       []encodedNode     `json:"nodes"`
}

func (e *encodedProgress) progress() Progress {
	p := Progress{Executed: e.Executed, Result: e.Result, Retries: e.Retries, Begin: e.Begin, Consider: e.Consider, Calls: e.Calls, Used: span(e.Used), ActiveSince: e.ActiveSince.time()}
	if len(e.Nodes) > 0 {
		p.Nodes = make([]NodeState, len(e.Nodes))
		for i := range e.Nodes {
			p.Nodes[i] = e.Nodes[i].node()
		}
	}
	return p
}

type encodedNode struct {
	ID         workflow.NodeID `json:"id"`
	Status     NodeStatus      `json:"status"`
	Attempts   int             `json:"attempts"`
	Before     int             `json:"before"`
	Branch     string          `json:"branch"`
	Failure    *encodedFailure `json:"failure"`
	Handled    bool            `json:"handled"`
	Logged     bool            `json:"logged"`
	Redacted   bool            `json:"redacted"`
	Dead       encodedDead     `json:"dead"`
	Output     json.RawMessage `json:"output"`
	OutputSeq  int64           `json:"outputSeq"`
	OutputOf   workflow.NodeID `json:"outputOf"`
	GivesInput bool            `json:"givesInput"`
	TakenOver  bool            `json:"takenOver"`
	StartedAt  *instant        `json:"startedAt"`
	FinishedAt *instant        `json:"finishedAt"`
	RetryAt    *instant        `json:"retryAt"`
	Pause      *encodedPause   `json:"pause"`
}

type encodedPause struct {
	Kind      PauseKind `json:"kind"`
	Event     string    `json:"event"`
	Since     *instant  `json:"since"`
	Until     *instant  `json:"until"`
	Seq       pauseSeq  `json:"seq"`
	Run       ID        `json:"run"`
	RunPaused bool      `json:"runPaused"`
	TokenHash string    `json:"tokenHash"`

	Question   *encodedQuestion `json:"question"`
	AnsweredBy *encodedActor    `json:"answeredBy"`
}

// pauseSeq is a number, or a text where the pause is guarded.
type pauseSeq struct {
	number  int64
	guarded bool
}

// UnmarshalJSON reads either.
func (s *pauseSeq) UnmarshalJSON(text []byte) (err error) {
	if s.guarded = len(text) > 1 && text[0] == '"'; s.guarded {
		text = text[1 : len(text)-1]
	}
	s.number, err = strconv.ParseInt(string(text), 10, 64)
	return err
}

type encodedQuestion struct {
	Title    string            `json:"title"`
	Prompt   string            `json:"prompt"`
	Assignee string            `json:"assignee"`
	Kind     string            `json:"kind"`
	Single   bool              `json:"single"`
	Form     node.Declarations `json:"form"`
}

func (e *encodedQuestion) question() *Question {
	if e == nil {
		return nil
	}
	return &Question{Title: e.Title, Prompt: e.Prompt, Assignee: e.Assignee, Kind: e.Kind, Single: e.Single, Form: e.Form}
}

// DecodeQuestion reads what [EncodeQuestion] wrote.
func DecodeQuestion(text []byte) (*Question, error) {
	var e encodedQuestion
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("run: decode question: %w", err)
	}
	return e.question(), nil
}

type encodedActor struct {
	Kind    tenant.ActorKind `json:"kind"`
	ID      string           `json:"id"`
	Subject string           `json:"subject"`
}

func (e *encodedActor) actor() *tenant.Actor {
	if e == nil {
		return nil
	}
	return &tenant.Actor{Kind: e.Kind, ID: e.ID, Subject: e.Subject}
}

func (e *encodedNode) node() NodeState {
	n := NodeState{
		ID: e.ID, Status: e.Status, Attempts: e.Attempts, AttemptsBeforeRetry: e.Before, Branch: e.Branch,
		Failure: e.Failure.failure(), Handled: e.Handled, Logged: e.Logged, Redacted: e.Redacted, Dead: e.Dead.Edges, Undecided: e.Dead.Undecided,
		Output: e.Output, OutputSeq: e.OutputSeq, OutputOf: e.OutputOf, OutputIsInput: e.GivesInput, TakenOver: e.TakenOver,
		StartedAt: e.StartedAt.time(), FinishedAt: e.FinishedAt.time(), RetryAt: e.RetryAt.time(),
	}
	if n.Status == "" {
		n.Status = NodePending
	}
	if p := e.Pause; p != nil {
		n.Pause = &Pause{Kind: p.Kind, Event: p.Event, Until: p.Until.time(), Seq: p.Seq.number, Guarded: p.Seq.guarded, Run: p.Run, RunPaused: p.RunPaused, TokenHash: p.TokenHash,
			Question: p.Question.question(), AnsweredBy: p.AnsweredBy.actor()}
		if since := p.Since.time(); since != nil {
			n.Pause.Since = *since
		}
	}
	return n
}

// encodedDead is a list of edges, or an object where some are undecided.
type encodedDead struct {
	Undecided []workflow.EdgeID `json:"undecided"`
	Edges     []int             `json:"edges"`
}

// UnmarshalJSON reads either.
func (d *encodedDead) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, &d.Edges)
	}
	type object encodedDead
	return json.Unmarshal(text, (*object)(d))
}
