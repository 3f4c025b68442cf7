package run

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Selection is what the configuration of a trigger makes of a payload.
type Selection struct {
	Refused  *domain.Error // why no run may be started; nil where one may
	Filtered bool          // the trigger is not for this payload
	Lane     Lane          // of the run that is started
}

// The codes of refusals, and reasons why a trigger is skipped.
const (
	CodePayloadInvalid = "payload_invalid"        // the payload does not fit the trigger's payloadSchema
	CodeFilterFailed   = "filter_failed"          // the trigger's filter has no value for the payload
	CodeKeyFailed      = "concurrency_key_failed" // the key of the trigger's concurrency has no value for the payload
	SkipFiltered       = "filtered"               // the trigger's filter is false
	SkipConcurrency    = "concurrency"            // as many runs of the key are live as may be
)

// SkipReasons are the reasons for which a trigger starts no run although it can fire.
func SkipReasons() []string {
	return []string{SkipFiltered, SkipConcurrency, CodePayloadInvalid, CodeFilterFailed, CodeKeyFailed}
}

// MaxSelectSteps bounds what all the triggers that one event could fire compute together.
const MaxSelectSteps = 5_000_000

// Selector looks at one payload for any number of triggers.
type Selector struct {
	payload  any
	size     int
	compiler Compiler
	now      time.Time
	used     Meter
	problems Problems
}

// NewSelector reads a payload, which is JSON.
func NewSelector(payload json.RawMessage, compiler Compiler, now time.Time) (*Selector, error) {
	tree, err := parse(payload)
	s := &Selector{payload: tree, size: len(payload), compiler: compiler, now: now}
	s.used.Add(int64(len(payload)/readForStep), 0)
	return s, err
}

// Used is how many steps were computed.
func (s *Selector) Used() int64 { return s.used.Steps }

// Select says whether a trigger starts a run with the payload. A payload that a call brings has to
// fit the schema; what a schedule gives is not the author's.
func (s *Selector) Select(trg *trigger.Trigger) Selection {
	if schema, ok := trg.Config().PayloadSchema(); ok && trg.Type() == trigger.Webhook {
		s.used.Add(int64((s.size+len(trg.Config().Document().String()))/readForStep), 0)
		if refused := s.fit(schema); refused != nil {
			return Selection{Refused: refused}
		}
	}
	if source, ok := trg.Config().Filter(); ok {
		value, compiles, err := s.evaluate(source)
		switch {
		case !compiles: // it was kept before there were filters
		case err != nil:
			return refused(CodeFilterFailed, "The filter of the trigger cannot be computed with this payload: %s", err)
		case !truthy(value):
			return Selection{Filtered: true}
		}
	}
	bound, ok := trg.Config().Concurrency()
	if !ok {
		return Selection{}
	}
	key, compiles, err := any(""), true, error(nil) // of all runs
	if bound.Key != "" {
		key, compiles, err = s.evaluate(bound.Key)
	}
	if !compiles {
		return Selection{}
	}
	var lane Lane
	if err == nil {
		lane, err = laneOf(trg.ID(), bound.Limit, key)
	}
	if err != nil {
		return refused(CodeKeyFailed, "The concurrency key of the trigger cannot be computed with this payload: %s", err)
	}
	return Selection{Lane: lane}
}

// Bounds of the problems that the answer to one event tells, of all triggers and runs together.
const (
	MaxProblems     = domain.MaxViolations
	maxProblemBytes = 128 << 10 // fields and messages; the first problem may be longer
)

// Problems counts the problems of one event. The zero value has none.
type Problems struct{ count, size int }

// Keep returns those that are told, the first ones; the memory of the others is free.
func (p *Problems) Keep(found []domain.Violation) []domain.Violation {
	n := 0
	for ; n < len(found) && p.count < MaxProblems && (p.size < maxProblemBytes || p.count == 0); n++ {
		p.count++
		p.size += len(found[n].Field) + len(found[n].Message)
	}
	if n == 0 {
		return nil
	}
	return slices.Clone(found[:n])
}

func refused(code, format string, err error) Selection {
	return Selection{Refused: domain.Fail(domain.Invalid, code, format, err)}
}

func (s *Selector) fit(schema node.Schema) *domain.Error {
	const field = "eventData"
	var r domain.Rules
	object, isObject := s.payload.(map[string]any)
	r.Check(isObject, field, domain.WrongType, "must be an object, not %s", kindOf(s.payload))
	if isObject {
		s.used.Add(int64(min(schema.PatternSize()*s.size, node.MaxMatch)/matchesForStep), 0)
		schema.Check(&r, field, object)
	}
	if found := r.Violations(); len(found) > 0 {
		return &domain.Error{Kind: domain.Invalid, Code: CodePayloadInvalid, Message: "The payload does not fit what the trigger takes.", Violations: s.problems.Keep(found)}
	}
	return nil
}

func (s *Selector) evaluate(source string) (value any, compiles bool, err error) {
	expression, err := s.compiler.Compile(source, workflow.RootPayload)
	if err != nil {
		return nil, false, err
	}
	value, err = expression.Evaluate(Env{Values: map[string]any{workflow.RootPayload: s.payload}, Now: s.now, Meter: &s.used})
	return value, true, err
}
