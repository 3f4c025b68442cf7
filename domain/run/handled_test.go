package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
)

// TestAFailureIsDealtWithWhereAnEdgeForItIsTaken draws a node that fails and the edges
// that leave it, and says without the graph's rules what must become of the run: it goes
// on exactly when an onError edge has no condition or one that holds.
func TestAFailureIsDealtWithWhereAnEdgeForItIsTaken(t *testing.T) {
	conditions := map[string]bool{
		"": true, `result.error.code === "timeout"`: true, `result.error.code.includes("out") && result.error.nodeId === "a"`: true,
		`result.error.code === "other"`: false, "0": false, "result.gone": false,
	}
	rapid.Check(t, func(rt *rapid.T) {
		steps, lines := []string{"a call"}, []string{}
		failed, completed := false, "a=failed(timeout)"
		stopped := completed
		for i := range rapid.IntRange(0, 5).Draw(rt, "edges") {
			key := rapid.SampledFrom([]string{"onError", "onError", "onSuccess", "", "m"}).Draw(rt, "key")
			condition := rapid.SampledFrom([]string{"", `result.error.code === "timeout"`, `result.error.code.includes("out") && result.error.nodeId === "a"`,
				`result.error.code === "other"`, "0", "result.gone"}).Draw(rt, "condition")
			steps = append(steps, expr(fmt.Sprint("b", i), "1"))
			lines = append(lines, fmt.Sprintf("a.%s -> b%d %s", key, i, condition))
			taken := key == "onError" && conditions[condition]
			failed = failed || taken
			stopped += fmt.Sprintf(" b%d=pending", i)
			if taken {
				completed += fmt.Sprintf(" b%d=completed", i)
			} else {
				completed += fmt.Sprintf(" b%d=skipped", i)
			}
		}
		w := begin(rt, plan(rt, nodes(steps...), edges(lines...)), start(`{}`)).fails("a", "timeout", false)
		if failed {
			w.want(run.StatusCompleted, completed)
		} else {
			w.want(run.StatusFailed, stopped)
		}
	})
}

func TestAConditionForFailuresThatCannotBeComputedTakesNothing(t *testing.T) {
	for claim, c := range map[string]struct {
		edges  []string
		status run.Status
		states string
	}{
		"alone":                        {[]string{"a.onError -> b result.error.detail.x"}, run.StatusFailed, "a=failed(timeout) b=pending c=pending"},
		"beside one that holds":        {[]string{"a.onError -> b result.error.detail.x", "a.onError -> c"}, run.StatusCompleted, "a=failed(timeout) b=skipped c=completed"},
		"written so that it has to be": {[]string{"a.onError -> b result.error.detail?.x", "a.onError -> c"}, run.StatusCompleted, "a=failed(timeout) b=skipped c=completed"},
	} {
		w := begin(t, plan(t, nodes("a call", expr("b", "1"), expr("c", "1")), edges(append(c.edges, "b -> c")...)), start(`{}`)).fails("a", "timeout", false)
		if got := w.nodes(); w.run.Status() != c.status || got != c.states {
			t.Errorf("%s: the run is %s with %s", claim, w.run.Status(), got)
		}
		const why = `It did not work. (No edge for failures was taken: edges[0].condition: line 1, column 21: result.error.detail is undefined; cannot read "x"; write ?. before it where it may be missing)`
		if f := w.run.Failure(); f != nil && f.Message != why {
			t.Errorf("%s: %s", claim, f.Message)
		}
		doubted := !strings.Contains(c.edges[0], "?.")
		if told := slices.Contains(entries(w.history), "edge.failed a edge_0"); told != doubted {
			t.Errorf("%s: the history is %v", claim, entries(w.history))
		}
	}
}

func TestAConditionForFailuresSeesTheFailureUnderTheNodesName(t *testing.T) {
	w := begin(t, plan(t, nodes("a call", expr("b", "1"), expr("c", "1")),
		edges(`a.onError -> b nodes.a.error.code === "timeout"`, `a.onError -> c nodes.a.error.code !== "timeout"`)), start(`{}`)).fails("a", "timeout", false)
	w.want(run.StatusCompleted, "a=failed(timeout) b=completed c=skipped")
}
