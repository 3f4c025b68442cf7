package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

func TestWhatACustomNodeGivesIsWhatItsTypePromises(t *testing.T) {
	p := plan(t, nodes("a score"), nil)
	for claim, c := range map[string]struct{ output, want, message string }{
		"what fits, with what is left out":     {`{"score": 7, "more": [1]}`, `{"label":"none","more":[1],"score":7}`, ""},
		"numbers keep their spelling":          {`{"score": 7.50, "label": "x"}`, `{"label":"x","score":7.50}`, ""},
		"another type":                         {`{"score": "7"}`, "-", "output.score must be a number, not a string"},
		"out of bounds, and wrong within":      {`{"score": 101, "reasons": ["a", 1]}`, "-", "output.score must be at most 100, not 101; output.reasons[1] must be a string, not a number"},
		"nothing that is required":             {`{}`, "-", "output.score must be given: a number"},
		"nothing at all":                       {`null`, "-", "output.score must be given: a number"},
		"no object":                            {`[7]`, "-", "output must be an object, not an array"},
		"no JSON":                              {`{"score": 7`, "-", "The output must be a JSON value, but it is not the text of a JSON value: unexpected EOF."},
		"a number beyond what a double can be": {`{"score": 1e999}`, "-", "output.score must be a number that a double can hold"},
	} {
		w := begin(t, p, start(`{}`)).succeeds("a", c.output)
		if got := w.output("a"); got != c.want {
			t.Errorf("%s: the output is %s, not %s", claim, got, c.want)
		}
		if c.message == "" {
			w.want(run.StatusCompleted, "a=completed")
			continue
		}
		want := &run.Failure{Code: "output_invalid", Message: c.message, Node: "a"}
		if diff := cmp.Diff(want, w.run.Failure()); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
		w.want(run.StatusFailed, "a=failed(output_invalid)") // without another attempt
	}
}

func TestAnOutputThatFitsNothingCanBeHandled(t *testing.T) {
	p := plan(t, nodes("a score", expr("b", "'sorry'"), expr("c", "input.score")), edges("a.onError -> b", "a.onSuccess -> c"))
	w := begin(t, p, start(`{}`)).succeeds("a", `{"score": true}`)
	w.want(run.StatusCompleted, "a=failed(output_invalid) b=completed c=skipped")
}

func TestANodeOfWhichNothingIsRequiredMayGiveNothing(t *testing.T) {
	p := plan(t, nodes("a note", "b call"), nil)
	w := begin(t, p, start(`{}`)).succeeds("a", "null").succeeds("b", "null")
	w.want(run.StatusCompleted, "a=completed b=completed")
	if w.output("a") != "{}" || w.output("b") != "null" {
		t.Errorf("one that declares an output gave %s, one that does not gave %s", w.output("a"), w.output("b"))
	}
}

func TestWhatResumesACustomNodeIsTheOutputThatItPromises(t *testing.T) {
	p := plan(t, nodes("a score"), nil)
	for field, fact := range map[string]func(w *harness, text string) run.Fact{
		"input": func(w *harness, text string) run.Fact {
			return run.Resumed{Token: w.tokens["a"], Input: json.RawMessage(text)}
		},
		"eventData": func(_ *harness, text string) run.Fact {
			return run.EventArrived{Event: "scored", Data: json.RawMessage(text)}
		},
	} {
		w := begin(t, p, start(`{}`)).does(run.AttemptPaused{Node: "a", Attempt: 1, Event: "scored", Timeout: time.Minute})
		for text, at := range map[string]string{`{"score": "high"}`: field + ".score", ``: field + ".score", `7`: field, `{`: field} {
			w.does(fact(w, text))
			if e := w.last.Refused; e == nil || e.Code != "input_invalid" || len(e.Violations) != 1 || e.Violations[0].Field != at {
				t.Errorf("%s %q is answered with %v, not a violation at %s", field, text, e, at)
			}
			w.want(run.StatusPaused, "a=waiting")
		}
		w.does(fact(w, `{"score": 90}`)).want(run.StatusCompleted, "a=completed")
		if got := w.output("a"); got != `{"label":"none","score":90}` {
			t.Errorf("%s gave %s", field, got)
		}
	}
}
