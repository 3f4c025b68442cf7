package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// A source that may be published is computed wherever a configuration may have it, even
// within a mapping that nests as deep as a request can.
func TestWhatIsPublishedIsNotTooDeepForARun(t *testing.T) {
	t.Parallel()
	nested := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	for claim, source := range map[string]func(n int) string{
		"parentheses": func(n int) string { return nested("(", "1", ")", n) },
		"arrays":      func(n int) string { return nested("[", "1", "]", n) },
		"objects":     func(n int) string { return nested("{a:", "1", "}", n) },
		"negations":   func(n int) string { return nested("!", "1", "", n) },
		"sums":        func(n int) string { return nested("1+", "1", "", n) },
		"conditions":  func(n int) string { return nested("1?1:", "1", "", n) },
		"functions":   func(n int) string { return nested("[0].map(x => ", "1", ")", n) },
	} {
		most := 201
		for (expression.Checker{}).Check(workflow.Source{Text: source(most)}).Problem != "" {
			most--
		}
		if most < 50 || most > 200 {
			t.Fatalf("%s nest at most %d deep", claim, most)
		}
		text, err := json.Marshal(source(most))
		if err != nil {
			t.Fatal(err)
		}
		x := string(text)
		deep := strings.Repeat(`{"a":`, 60) + x + strings.Repeat("}", 60)
		many := strings.TrimSuffix(strings.Repeat(`"[1].map(x => x)",`, 250), ",")
		p := plan(t, nodes(
			`condition condition {"condition": `+x+`}`,
			`one transform {"expression": `+x+`}`,
			`map transform {"transformType": "map", "source": "[1]", "expression": `+x+`}`,
			`reduce transform {"transformType": "reduce", "source": `+arrayOf(source(most-1))+`, "expression": "acc", "initial": 1}`,
			`mapping transform {"mapping": `+deep+`}`,
			`mapped transform {"transformType": "map", "source": "[1]", "mapping": `+deep+`}`,
			`functions transform {"mapping": {"a": [`+many+`]}}`,
		), edges())
		trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{})
		if err != nil {
			t.Fatal(err)
		}
		if failure := trace.Run.Failure(); failure != nil || trace.Run.Status() != run.StatusCompleted {
			t.Errorf("%s: the run is %s: %v", claim, trace.Run.Status(), failure)
		}
	}
}

func arrayOf(source string) string {
	text, _ := json.Marshal("[" + source + "]") // a string
	return string(text)
}
