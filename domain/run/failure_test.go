package run_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
)

// kept says of a text whether every store can keep it.
func kept(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) && c != '\t' && c != '\n'
	})
}

// keeps checks every text of a run that came from outside, and that what a store keeps
// of the run is what the run is.
func keeps(t tester, w *harness) {
	t.Helper()
	state := w.run.State()
	failures := []*run.Failure{state.Failure}
	for _, n := range state.Nodes {
		failures = append(failures, n.Failure)
		if n.Pause != nil && (!utf8.ValidString(n.Pause.Event) || strings.ContainsRune(n.Pause.Event, 0)) {
			t.Errorf("node %s waits for %q", n.ID, n.Pause.Event)
		}
	}
	for _, h := range w.told {
		failures = append(failures, h.Failure)
	}
	for _, f := range failures {
		if f != nil && (!kept(f.Code, 100) || !kept(f.Message, 2000)) {
			t.Errorf("a failure is %#v", *f)
		}
	}
	for _, e := range w.history {
		if !kept(e.Code, 100) || !kept(e.Message, 2000) || !kept(e.Branch, 100) {
			t.Errorf("an entry is %#v", e)
		}
	}
	if diff := cmp.Diff(state, stored(state).restored(t).State()); diff != "" {
		t.Errorf("what is kept of the run is not what it is: %s", diff)
	}
}

// hostile draws what no store may be asked to keep, besides ordinary text.
func hostile(rt *rapid.T, label string) string {
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "\x1b[31m", "\u0085", "\r\n", "\ufffd", strings.Repeat("é\x00", 1500), strings.Repeat("n", 2001),
	}))
	return strings.Join(rapid.SliceOfN(part, 0, 3).Draw(rt, label), "")
}

func TestNoTextFromOutsideIsOneThatStoresRefuse(t *testing.T) {
	p := plan(t, nodes("a strict", "b call", "c approve", expr("d", "({}).x.y")), edges("a.onError -> b", "b.onError -> c", "c.onError -> d"))
	rapid.Check(t, func(rt *rapid.T) {
		w := begin(rt, p, start(`{}`))
		name, message := hostile(rt, "name"), hostile(rt, "message")
		output := map[string]any{"detail": map[string]any{name: message}, name: 1.0}
		w.does(run.AttemptCompleted{Node: "a", Attempt: 1, Output: output})
		keeps(rt, w)
		w.does(run.AttemptFailed{Node: "b", Attempt: w.open["b"].Attempt, Code: name, Message: message, Retryable: rapid.Bool().Draw(rt, "again")})
		keeps(rt, w)
		w.does(run.AttemptPaused{Node: "c", Attempt: w.open["c"].Attempt, Event: name})
		keeps(rt, w)
		w.does(run.CancelRequested{Reason: message})
		keeps(rt, w)
	})
}

func TestAFailureSaysReadablyWhatCameFromOutside(t *testing.T) {
	p := plan(t, nodes("a strict"), nil)
	w := begin(t, p, start(`{}`)).succeeds("a", `{"detail": {"a\u0000b": 1}}`)
	want := &run.Failure{Code: "output_invalid", Message: `output.detail.a\u0000b must be left out: the object may have only "text"`, Node: "a"}
	if diff := cmp.Diff(want, w.run.Failure()); diff != "" {
		t.Error(diff)
	}
	p = plan(t, nodes("a call"), nil)
	for given, want := range map[string]string{
		"as it is,\n\tü": "as it is,\n\tü", "a\x00b\x1b\r\u0085": "a\ufffdb\ufffd\ufffd\ufffd", "\xffx": "\ufffdx", "": "",
		strings.Repeat("é", 2000): strings.Repeat("é", 2000), strings.Repeat("é", 2001): strings.Repeat("é", 1999) + "…",
	} {
		w := begin(t, p, start(`{}`)).does(run.AttemptFailed{Node: "a", Attempt: 1, Code: "c\x00", Message: given})
		if diff := cmp.Diff(&run.Failure{Code: "c\ufffd", Message: want, Node: "a"}, w.run.Failure()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAValueMayHoldEveryCharacter(t *testing.T) {
	p := plan(t, nodes("a call", expr("b", "input.text")), edges("a -> b"))
	w := begin(t, p, start(`{}`)).succeeds("a", `{"text": "a\u0000b"}`)
	if got := w.output("b"); got != `"a\u0000b"` { // an escape, of which no store knows
		t.Errorf("the output is %s", got)
	}
	keeps(t, w)
}

func TestAnEventThatNobodyCanNameIsNotWaitedFor(t *testing.T) {
	p := plan(t, nodes("a approve"), nil)
	for event, message := range map[string]string{
		"a\x00b": "event must not contain the character U+0000", "a\xff": "event must be valid UTF-8",
		strings.Repeat("é", 256): "event must be at most 255 characters long, not 256",
	} {
		w := begin(t, p, start(`{}`)).does(run.AttemptPaused{Node: "a", Attempt: 1, Event: event})
		if diff := cmp.Diff(&run.Failure{Code: "output_invalid", Message: message, Node: "a"}, w.run.Failure()); diff != "" {
			t.Error(diff)
		}
	}
	begin(t, p, start(`{}`)).does(run.AttemptPaused{Node: "a", Attempt: 1, Event: strings.Repeat("é", 255)}).want(run.StatusPaused, "a=waiting")
}

func TestARunIsGivenUpWhateverItDoes(t *testing.T) {
	want := &run.Failure{Code: "internal_error", Message: "The run was ended because the gateway could not keep its next step."}
	p := plan(t, nodes("a call", "b approve"), edges("a -> b"))
	running := begin(t, p, start(`{}`))
	paused := begin(t, p, start(`{}`)).succeeds("a", "1").does(run.AttemptPaused{Node: "b", Attempt: 1})
	pending := &harness{t: t, plan: p, run: run.New(runID, start(`{}`), noon), now: noon, open: running.open, tokens: running.tokens}
	for claim, c := range map[string]struct {
		harness       *harness
		entries       []run.EntryType
		states, again string // of the nodes, then and after the run was retried
	}{
		"pending": {pending, []run.EntryType{"run.failed"}, "", "a=running b=pending"},
		"running": {running, []run.EntryType{"node.cancelled", "run.failed"}, "a=cancelled b=pending", "a=running b=pending"},
		"paused":  {paused, []run.EntryType{"node.cancelled", "run.failed"}, "a=completed b=cancelled", "a=completed b=running"},
	} {
		w := c.harness
		step := w.run.GiveUp(noon.Add(-time.Hour)) // before the last entry, than which nothing is earlier
		var entries []run.EntryType
		for _, e := range step.History {
			entries = append(entries, e.Type)
			if !e.At.Equal(noon) {
				t.Errorf("%s: the entry is of %s", claim, e.At)
			}
		}
		if diff := cmp.Diff(c.entries, entries); diff != "" || !step.Finished || len(step.Execute) != 0 || !step.WakeAt.IsZero() {
			t.Errorf("%s: %s%+v", claim, diff, step)
		}
		told := []run.DomainEvent{{Type: run.RunFailed, At: noon, Seq: w.run.Seq(), Failure: want}}
		if diff := cmp.Diff(told, step.Happened); diff != "" || !cmp.Equal(want, w.run.Failure()) {
			t.Errorf("%s: %s", claim, diff)
		}
		w.want(run.StatusFailed, c.states)
		if again := w.run.GiveUp(noon); again.Changed() || again.Refused != nil {
			t.Errorf("%s: a run that has ended changes: %+v", claim, again)
		}
		w.does(run.RetryRequested{}).want(run.StatusRunning, c.again)
		if w.run.State().StartedAt == nil || w.refusal() != "" {
			t.Errorf("%s: it is retried, but never began: %s", claim, w.refusal())
		}
	}
}

func TestWhatANodeGivesNestsOnlySoDeep(t *testing.T) {
	p := plan(t, nodes("a call"), nil)
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for depth, want := range map[int]run.Status{512: run.StatusCompleted, 513: run.StatusFailed, 9_999: run.StatusFailed, 20_000: run.StatusFailed} {
		w := begin(t, p, start(`{}`)).succeeds("a", nested(depth))
		if w.run.Status() != want || want == run.StatusFailed && w.run.Failure().Code != "output_invalid" {
			t.Errorf("with %d levels it is %s: %+v", depth, w.run.Status(), w.run.Failure())
		}
		if !json.Valid(run.EncodeProgress(w.run.State().Progress)) {
			t.Errorf("with %d levels nobody can read the run", depth)
		}
	}
}
