package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/workflow"
)

// PastFact is a fact that a run has taken, with the time of the [Event].
type PastFact struct {
	At   time.Time
	Fact Fact
}

// MayBeKept says that the step may be stored later where its fact outlasts the process elsewhere: nobody
// but who works on the run looks at what is new in it, and giving the run as it was before the same fact
// gives the step once more. [Step.MayWait] asks for less.
func (s Step) MayBeKept() bool {
	inside := s.Changed() && s.Refused == nil && !s.Finished && !s.Turned && len(s.Start)+len(s.Loops)+len(s.Left)+len(s.Happened) == 0
	return inside && !slices.ContainsFunc(s.History, func(e Entry) bool { return e.Type == EntryNodeWaiting })
}

// encodedFact is one line of what [EncodeFact] writes. One of the pointers is set, or none for [TimeReached].
type encodedFact struct {
	At        int64             `json:"at"` // Unix milliseconds
	Completed *encodedCompleted `json:"completed,omitempty"`
	Failed    *encodedFailed    `json:"failed,omitempty"`
}

type encodedCompleted struct {
	Node     workflow.NodeID `json:"node"`
	Attempt  int             `json:"attempt"`
	Output   json.RawMessage `json:"output"`
	Log      []string        `json:"log,omitempty"`
	Redacted bool            `json:"redacted,omitempty"`
}

type encodedFailed struct {
	Node       workflow.NodeID `json:"node"`
	Attempt    int             `json:"attempt"`
	Code       string          `json:"code"`
	Message    string          `json:"message,omitempty"`
	Retryable  bool            `json:"retryable,omitempty"`
	RetryAfter int64           `json:"retryAfter,omitempty"` // milliseconds, rounded up
	Log        []string        `json:"log,omitempty"`
	Redacted   bool            `json:"redacted,omitempty"`
}

// EncodeFact returns a fact as a line for [DecodeFacts]. Only [TimeReached], [AttemptCompleted] and
// [AttemptFailed] have one; ok is false for the others, and where an output is no value.
func EncodeFact(f PastFact) (line []byte, ok bool) {
	e := encodedFact{At: f.At.UnixMilli()}
	switch f := f.Fact.(type) {
	case TimeReached:
	case AttemptCompleted:
		output, err := WriteValue(f.Output)
		if err != nil {
			return nil, false
		}
		e.Completed = &encodedCompleted{Node: f.Node, Attempt: f.Attempt, Output: output, Log: f.Log, Redacted: f.Redacted}
	case AttemptFailed:
		e.Failed = &encodedFailed{
			Node: f.Node, Attempt: f.Attempt, Code: f.Code, Message: f.Message, Retryable: f.Retryable,
			RetryAfter: int64((f.RetryAfter + time.Millisecond - 1) / time.Millisecond), Log: f.Log, Redacted: f.Redacted,
		}
	default:
		return nil, false
	}
	line, err := json.Marshal(e)
	return append(line, '\n'), err == nil
}

// DecodeFacts reads lines of [EncodeFact].
func DecodeFacts(lines []byte) ([]PastFact, error) {
	var facts []PastFact
	for line := range bytes.Lines(lines) {
		var e encodedFact
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("run: decode a fact: %w", err)
		}
		facts = append(facts, PastFact{At: time.UnixMilli(e.At).UTC(), Fact: e.fact()})
	}
	return facts, nil
}

func (e encodedFact) fact() Fact {
	switch {
	case e.Completed != nil:
		c := e.Completed
		return AttemptCompleted{Node: c.Node, Attempt: c.Attempt, Output: c.Output, Log: c.Log, Redacted: c.Redacted}
	case e.Failed != nil:
		f := e.Failed
		return AttemptFailed{
			Node: f.Node, Attempt: f.Attempt, Code: f.Code, Message: f.Message, Retryable: f.Retryable,
			RetryAfter: span(f.RetryAfter), Log: f.Log, Redacted: f.Redacted,
		}
	default:
		return TimeReached{}
	}
}
