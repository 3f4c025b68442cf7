package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// bodies makes the plans of bodies.
func bodies(t tester) func(of *run.Plan, loop workflow.NodeID) *run.Plan {
	return func(of *run.Plan, loop workflow.NodeID) *run.Plan {
		return of.Body(loop, registry(t), expression.Compiler{})
	}
}

func TestASimulationRunsTheBodyForEachItem(t *testing.T) {
	const three = `each forEach {"items": "[1, 2, 3]"%s}`
	rest := `each/rest wait {"delayMs": 1000}`
	for claim, c := range map[string]struct {
		config  string
		body    []string
		edges   []string
		answers answers
		want    string
	}{
		"and gives what each gave, in their order": {
			``, []string{`each/give return {"value": "{{ input + item * 10 + index * 100 }}"}`}, nil, nil,
			`completed {"count":3,"failed":[],"results":[11,122,233]} after 0s`,
		},
		"as many at a time as may be": {
			`, "concurrency": 2`, []string{rest, expr("each/after", "item")}, edgeLines("rest -> after"), nil,
			`completed {"count":3,"failed":[],"results":[1,2,3]} after 2s`,
		},
		"and one for which the body gives nothing gives null": {
			``, []string{`each/odd condition {"condition": "item % 2 === 1"}`, expr("each/then", "'odd'")}, edgeLines("odd.true -> then"), nil,
			`completed {"count":3,"failed":[],"results":["odd",2,"odd"]} after 0s`,
		},
		"until one fails": {
			``, []string{expr("each/check", "item === 2 ? input.none.none : item")}, nil, nil, `failed item_failed after 0s`,
		},
		"or notes which have failed": {
			`, "onItemError": "continue"`, []string{expr("each/check", "item === 2 ? input.none.none : item")}, nil, nil,
			`completed {"count":3,"failed":[{"error":"expression_failed","index":1}],"results":[1,null,3]} after 0s`,
		},
		"with the answers to its nodes, in the order of the items": {
			`, "concurrency": 1`, []string{`each/ask call`}, nil,
			answers{"ask": {{Output: []byte(`"a"`), After: time.Minute}, {Failure: &run.AttemptFailed{Code: "no", Retryable: true}}, {Output: []byte(`"b"`)}, {Output: []byte(`"c"`)}}},
			`completed {"count":3,"failed":[],"results":["a","b","c"]} after 1m1s`,
		},
		"and is left open where one would need another answer": {
			`, "concurrency": 1`, []string{`each/ask call`}, nil, answers{"ask": {output(`"a"`)}}, `running [ask] after 0s`,
		},
		"and is not where another one has failed": {
			``, []string{`each/ask call`}, nil, answers{"ask": {output(`"a"`), {Failure: &run.AttemptFailed{Code: "no"}, After: time.Hour}}}, `failed timeout after 30m0s`,
		},
		"each with what is pinned": {
			``, []string{`each/ask call`, `each/then input`}, edgeLines("ask -> then"), answers{"ask": {{Output: []byte(`"a"`), Pinned: true}}, "then": {{Output: []byte(`{"value": "x"}`), Pinned: true}}},
			`completed {"count":3,"failed":[],"results":[{"value":"x"},{"value":"x"},{"value":"x"}]} after 0s`,
		},
		"but not with an answer of its own": {
			``, []string{`each/ask call`}, nil, answers{"each": {{Output: []byte(`{"results": 5}`), After: time.Second}}}, `completed {"results":5} after 1s`,
		},
		"which may be that it fails": {
			``, []string{`each/ask call`}, nil, answers{"each": {{Failure: &run.AttemptFailed{Code: "gone"}}}}, `failed gone after 0s`,
		},
		"in a body, too": {
			``, []string{`each/inner forEach {"items": "[item, index]"}`, expr("inner/sum", "item + payload.n + nodes.first")}, nil, nil,
			`completed {"count":3,"failed":[],"results":[{"count":2,"failed":[],"results":[1005,1004]},{"count":2,"failed":[],"results":[1006,1005]},{"count":2,"failed":[],"results":[1007,1006]}]} after 0s`,
		},
	} {
		lines := append([]string{expr("first", "1000"), fmt.Sprintf(three, c.config)}, c.body...)
		p := plan(t, nodes(lines...), edges(append([]string{"first -> each"}, c.edges...)...))
		trace, err := run.Simulate(p, runID, start(`{"n": 4}`), noon, run.Outside{Answers: c.answers, Body: bodies(t)})
		if err != nil {
			t.Errorf("%s: %v", claim, err)
			continue
		}
		shown := fmt.Sprint(trace.Open)
		if output, ok := trace.Run.Output("each"); ok {
			shown = bareTree(output)
		} else if f := trace.Run.Failure(); f != nil {
			shown = f.Code
		}
		if got := fmt.Sprintf("%s %s after %s", trace.Run.Status(), shown, trace.Run.UpdatedAt().Sub(noon).Round(time.Second)); got != c.want {
			t.Errorf("%s: %s, not %s", claim, got, c.want)
		}
	}
}

func edgeLines(lines ...string) []string { return lines }

func TestASimulationShowsTheEffectsOfItems(t *testing.T) {
	p := plan(t, nodes(`each forEach {"items": "[1, 2, 3, 4]", "concurrency": 2}`, `each/rest wait {"delayMs": 1000}`, `each/tell call`, "beside call"), edges("rest -> tell"))
	trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Body: bodies(t), Answers: answers{
		"tell":   {output(`1`), {Failure: &run.AttemptFailed{Code: "no"}, After: time.Second}, output(`3`), output(`4`)},
		"beside": {{After: time.Minute}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range trace.Effects {
		got = append(got, fmt.Sprintf("%s %s %v", e.At.Sub(noon), e.Node, e.Input))
	}
	want := []string{"0s beside map[]", "1s tell 1", "1s tell 2", "2s tell 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s", diff)
	}
}

func TestASimulationOfLoopsIsBounded(t *testing.T) {
	many := make([]string, 4000)
	for i := range many {
		many[i] = "0"
	}
	payload := `{"list": [` + strings.Join(many, ",") + `]}`
	var failure *domain.Error
	p := plan(t, nodes(`a forEach {"items": "payload.list"}`, `a/b forEach {"items": "payload.list"}`, expr("b/c", "1")), nil)
	if _, err := run.Simulate(p, runID, start(payload), noon, run.Outside{Body: bodies(t)}); !errors.As(err, &failure) || failure.Code != "simulation_too_large" {
		t.Errorf("sixteen million items: %v", err)
	}
	p = plan(t, nodes(`a forEach {"items": "payload.list"}`, `a/b forEach {"items": "[1,2,3,4,5,6,7,8,9]"}`, "b/c call", "b/d call"), nil)
	given := answers{"c": slices.Repeat([]run.Answer{output("1")}, 40000), "d": slices.Repeat([]run.Answer{output("1")}, 40000)}
	if _, err := run.Simulate(p, runID, start(payload), noon, run.Outside{Body: bodies(t), Answers: given}); !errors.As(err, &failure) || !strings.Contains(failure.Message, "bytes of memory") {
		t.Errorf("effects of many items: %v", err)
	}
}

func TestAnAnswerIsForANodeInABodyToo(t *testing.T) {
	p := plan(t, nodes(`each forEach {"items": "[1]"}`, "each/ask input"), nil)
	for id, want := range map[workflow.NodeID]string{"ask": "", "each": "answers.each[0]", "none": "answers.none[0]"} {
		_, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Body: bodies(t), Answers: answers{id: {{Pause: &run.AttemptPaused{}}}}})
		var failure *domain.Error
		if errors.As(err, &failure); want == "" && failure == nil || want != "" && (failure == nil || failure.Violations[0].Field != want) {
			if id == "ask" && failure != nil { // it waits already
				continue
			}
			t.Errorf("%s: %v", id, err)
		}
	}
}
