package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
)

func TestTheOutputOfARun(t *testing.T) {
	for claim, c := range map[string]struct {
		nodes, edges []string
		want         string
	}{
		"is what the only node gave that led nowhere": {
			[]string{expr("a", "1"), expr("b", "({two: 2})")}, []string{"a -> b"}, `{"two":2}`,
		},
		"is an object of what several gave, by their ids": {
			[]string{expr("first", "1"), expr("z", "2"), expr("y", "3")}, []string{"first -> z", "first -> y"}, `{"y":3,"z":2}`,
		},
		"has nothing of a node whose way was not taken": {
			[]string{`which condition {"condition": "false"}`, expr("yes", "1"), expr("no", "2")}, []string{"which.true -> yes", "which.false -> no"}, `2`,
		},
		"is what a branch received that leads nowhere": {
			[]string{`which condition {"condition": "false"}`, expr("yes", "1")}, []string{"which.true -> yes"}, `{"p":1}`,
		},
		"is what followed the failure that an edge took": {
			[]string{expr("boom", "input.none.none"), expr("after", "input.error.code")}, []string{"boom.onError -> after"}, `"expression_failed"`,
		},
		"is what return gave, wherever that stands": {
			[]string{`give return {"value": {"p": "{{ payload.p }}", "text": "p={{ input.p }}"}}`, expr("after", "1"), expr("beside", "2")},
			[]string{"give -> after"}, `{"p":1,"text":"p=1"}`,
		},
		"is what flowed into a return without a value": {
			[]string{expr("a", "[1]"), "give return", expr("beside", "2")}, []string{"a -> give"}, `[1]`,
		},
		"is what the first return gave": {
			[]string{`late return {"value": 1}`, expr("a", "1"), `early return {"value": 2}`}, []string{"a -> late"}, `2`,
		},
		"has nothing of a return that was not reached": {
			[]string{`which condition {"condition": "true"}`, expr("yes", "1"), `no return {"value": 2}`}, []string{"which.true -> yes", "which.false -> no"}, `1`,
		},
		"may be false, which is no blank": {[]string{`give return {"value": false}`}, nil, `false`},
	} {
		t.Run(claim, func(t *testing.T) {
			w := begin(t, plan(t, nodes(c.nodes...), edges(c.edges...)), start(`{"p":1}`))
			got, omitted := w.run.Result(run.MaxOutput)
			if string(got) != c.want || omitted || w.run.Status() != run.StatusCompleted {
				t.Errorf("the run is %s and gave %s, %v, not %s", w.run.Status(), got, omitted, c.want)
			}
		})
	}
}

func TestARunThatHasNotCompletedHasNoOutput(t *testing.T) {
	w := begin(t, plan(t, nodes(`give return {"value": 1}`, "ask call"), nil), start(`{}`))
	if got, omitted := w.run.Result(run.MaxOutput); got != nil || omitted {
		t.Errorf("while it runs it gave %s, %v", got, omitted)
	}
	w.fails("ask", "no", false)
	if got, omitted := w.run.Result(run.MaxOutput); got != nil || omitted || w.run.Status() != run.StatusFailed {
		t.Errorf("when it is %s it gave %s, %v", w.run.Status(), got, omitted)
	}
	w.does(run.RetryRequested{}).succeeds("ask", `{}`)
	if got, _ := w.run.Result(run.MaxOutput); string(got) != "1" {
		t.Errorf("in the end it gave %s", got)
	}
}

func TestAReturnThatCannotBeComputedFails(t *testing.T) {
	w := begin(t, plan(t, nodes(`give return {"value": "{{ input.none.none }}"}`), nil), start(`{}`))
	w.want(run.StatusFailed, "give=failed(expression_failed)")
}

// The output is made when it is asked for, so that its size needs a bound of its own.
func TestAnOutputThatIsTooLargeIsLeftOut(t *testing.T) {
	value := `"` + strings.Repeat("x", run.MaxOutput-2) + `"`
	w := begin(t, plan(t, nodes("a call", "b call"), nil), start(`{}`)).succeeds("a", value).succeeds("b", `1`)
	if got, omitted := w.run.Result(run.MaxOutput); got != nil || !omitted {
		t.Errorf("two outputs that are too large together give %d bytes, %v", len(got), omitted)
	}
	w = begin(t, plan(t, nodes("a call"), nil), start(`{}`)).succeeds("a", value)
	if got, omitted := w.run.Result(run.MaxOutput); string(got) != value || omitted {
		t.Errorf("the largest gives %d bytes, %v", len(got), omitted)
	}
	if got, omitted := w.run.Result(run.MaxOutput - 1); got != nil || !omitted {
		t.Errorf("within a smaller limit it gives %d bytes, %v", len(got), omitted)
	}
}

func TestTheSizeOfAnOutputIsNoLessThanItTakes(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, expr(fmt.Sprintf("\u00e9%d", i), "'é'"))
	}
	w := begin(t, plan(t, nodes(lines...), nil), start(`{}`))
	got, _ := w.run.Result(run.MaxOutput)
	if len(got) > w.run.ResultSize()+1 || !json.Valid(got) {
		t.Errorf("%d bytes take %d: %s", w.run.ResultSize(), len(got), got)
	}
}
