package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// again begins a run that repeats that of the harness by a plan.
func (w *harness) again(p *run.Plan, from, payload string) (*harness, error) {
	w.t.Helper()
	call := run.Again{Source: run.Source{Version: version}, DedupeKey: "again", Payload: json.RawMessage(payload)}
	if from != "" {
		call.From = (*workflow.NodeID)(&from)
	}
	r, err := w.run.Rerun(p, "run_2", call, w.now.Add(time.Minute))
	if err != nil {
		return nil, err
	}
	next := &harness{t: w.t, plan: p, run: stored(r.State()).restored(w.t), now: w.now.Add(time.Minute), open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
	return next.does(run.Started{}), nil
}

func (w *harness) mustAgain(p *run.Plan, from, payload string) *harness {
	w.t.Helper()
	next, err := w.again(p, from, payload)
	if err != nil {
		w.t.Fatal(err)
	}
	return next
}

// takenOver lists the nodes whose results a run has from another one.
func (w *harness) takenOver() string {
	var ids []string
	for _, n := range w.run.Nodes() {
		if n.TakenOver {
			ids = append(ids, string(n.ID))
		}
	}
	return strings.Join(ids, " ")
}

func TestARunIsRepeatedFromTheBeginning(t *testing.T) {
	p := plan(t, nodes("a call", expr("b", "payload.n")), edges("a -> b"))
	first := begin(t, p, start(`{"n": 1}`)).succeeds("a", `1`)
	next := first.mustAgain(p, "", "")
	next.want(run.StatusRunning, "a=running b=pending")
	next.succeeds("a", `2`).want(run.StatusCompleted, "a=completed b=completed")
	r := next.run
	if r.RerunOf() != runID || r.Cause() != run.CauseRerun || r.Entity() != "order-7" || r.DedupeKey() != "again" || next.output("b") != "1" || next.takenOver() != "" {
		t.Errorf("it is %+v, and gave %s", r.Summary(), next.output("b"))
	}
	if got := first.mustAgain(p, "", `{"n": 7}`).succeeds("a", `2`).output("b"); got != "7" {
		t.Errorf("with another payload it gave %s", got)
	}
}

func TestARunGoesOnFromANodeWithWhatCameBefore(t *testing.T) {
	large := fmt.Sprintf(`"%s"`, strings.Repeat("x", 2*run.InlineOutput))
	p := plan(t, nodes("a call", `if condition {"condition": "payload.n > 1"}`, "yes call", "no call", "beside call", "end call"),
		edges("a -> if", "if.true -> yes", "if.false -> no", "a -> beside", "yes -> end", "no -> end"))
	first := begin(t, p, start(`{"n": 2}`)).succeeds("a", large).succeeds("beside", `5`).succeeds("yes", `3`).succeeds("end", `4`)
	first.want(run.StatusCompleted, "a=completed if=completed yes=completed no=skipped beside=completed end=completed")

	next := first.mustAgain(p, "end", "")
	next.want(run.StatusRunning, "a=completed if=completed yes=completed no=skipped beside=completed end=running")
	if got := next.takenOver(); got != "a if yes beside" {
		t.Errorf("it took over %s", got)
	}
	if next.output("a") != large || next.output("if") != large || next.open["end"].IdempotencyKey != "run_2:end" || text(next.open["end"].Input) != "3" {
		t.Errorf("its input is %v", next.open["end"])
	}
	next.succeeds("end", `9`).want(run.StatusCompleted, "a=completed if=completed yes=completed no=skipped beside=completed end=completed")
	if next.data() != strings.Replace(first.data(), "end=4", "end=9", 1) {
		t.Errorf("the contexts differ: %.200s", next.data())
	}

	middle := first.mustAgain(p, "if", "")
	middle.want(run.StatusRunning, "a=completed if=completed yes=running no=skipped beside=completed end=pending")
	other := first.mustAgain(p, "if", `{"n": 0}`)
	other.want(run.StatusRunning, "a=completed if=completed yes=skipped no=running beside=completed end=pending")
}

func TestAFailureThatAnEdgeTookIsTakenOver(t *testing.T) {
	p := plan(t, nodes("a call", "b call"), edges("a.onError -> b"))
	first := begin(t, p, start(`{}`)).fails("a", "gone", false).fails("b", "gone", false)
	first.want(run.StatusFailed, "a=failed(gone) b=failed(gone)")
	next := first.mustAgain(p, "b", "")
	next.want(run.StatusRunning, "a=failed(gone) b=running")
	without := plan(t, nodes("a call", "b call"), edges("a.onSuccess -> b"))
	first.mustAgain(without, "b", "").want(run.StatusFailed, "a=failed(gone) b=pending")
}

func TestAnotherVersionGoesOnWithWhatItKnows(t *testing.T) {
	p := plan(t, nodes("a call", `pass condition {"condition": "true"}`, "b call"), edges("a -> pass", "pass.true -> b"))
	first := begin(t, p, start(`{}`)).succeeds("a", `1`).succeeds("b", `2`)
	changed := plan(t, nodes(`pass condition {"condition": "true"}`, "new call", "b call"), edges("pass.true -> b", "new -> b.extra"))
	if _, err := first.again(changed, "b", ""); !problemWith(err, "from") {
		t.Errorf("without the result of a node before it: %v", err)
	}
	fewer := plan(t, nodes(`pass condition {"condition": "true"}`, "b call", "aside call"), edges("pass.true -> b"))
	next := first.mustAgain(fewer, "b", "")
	next.want(run.StatusRunning, "pass=completed b=running aside=running")
	if text(next.open["b"].Input) != "1" { // what a gave is passed on without it
		t.Errorf("its input is %v", next.open["b"].Input)
	}
}

func TestARunIsRepeatedOnlyFromWhereItCame(t *testing.T) {
	p := plan(t, nodes(`if condition {"condition": "true"}`, "yes call", "no call", "end call"), edges("if.true -> yes", "if.false -> no", "yes -> end", "no -> end"))
	w := begin(t, p, start(`{}`))
	for _, from := range []string{"gone", "end"} {
		if _, err := w.again(p, from, ""); !problemWith(err, "from") {
			t.Errorf("from %s: %v", from, err)
		}
	}
	w.mustAgain(p, "yes", "").want(run.StatusRunning, "if=completed yes=running no=skipped end=pending")
}

func TestARetryDecidesAnewWhatWasTakenOver(t *testing.T) {
	p := plan(t, nodes("a call", "b call", "c call", "d call"), edges("a -> c result.n.m", "a -> b", "d -> c 0"))
	passes := plan(t, nodes("a call", "b call", "c call", "d call"), edges("a -> c", "a -> b", "d -> c 0"))
	first := begin(t, passes, start(`{}`)).succeeds("a", `{}`).succeeds("d", `{}`).succeeds("b", `1`)
	next := first.mustAgain(p, "b", "")
	next.want(run.StatusFailed, "a=completed b=pending c=pending d=completed")
	next.does(run.RetryRequested{}).want(run.StatusFailed, "a=completed b=pending c=pending d=completed")
}

func problemWith(err error, field string) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Code == "call_invalid" && len(e.Violations) == 1 && e.Violations[0].Field == field
}
