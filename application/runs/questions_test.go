package runs_test

import (
	"encoding/json"
	"net/netip"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

const assignedNode = `a input@1.1.0 {"prompt": "Pay {{ payload.n }}?", "assignee": "{{ payload.who }}", "inputType": "boolean"}`

func (d *env) open(f run.PauseFilter) []run.OpenPause {
	d.Helper()
	found, err := runs.NewQuestions(d.Runs).List(d.Context(), d.Caller, f, domain.Query{})
	if err != nil || found.Total != len(found.Items) {
		d.Fatal(found.Total, err)
	}
	return found.Items
}

func TestQuestionsAreListedUntilTheyAreAnswered(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{assignedNode, `b input {"prompt": "Sure?"}`}, []string{"a -> b"})
		id := d.Accept(ver, 1, fixture.RunOptions{Payload: `{"n": 5, "who": "ana"}`})[0]
		d.Begin(id)
		ana, bob := "ana", "bob"
		all := d.open(run.PauseFilter{Assignee: &ana, Workflow: ver.Workflow()})
		if len(all) != 1 || all[0].Run != id || all[0].Node != "a" || all[0].Question == nil || all[0].Question.Prompt != "Pay 5?" || all[0].Question.Assignee != "ana" {
			t.Fatalf("these wait: %+v", all)
		}
		if none := d.open(run.PauseFilter{Assignee: &bob}); len(none) > 0 {
			t.Errorf("bob is asked %+v", none)
		}
		questions := runs.NewQuestions(d.Runs)
		answer := func(who tenant.Caller, id run.PauseID, input string) error {
			return questions.Answer(d.Context(), who, domain.IdempotencyKey{}, id, run.AnswerCall{Input: json.RawMessage(input)})
		}
		d.WantCode(answer(d.Caller, all[0].ID, `"perhaps"`), domain.Invalid, "input_invalid")
		d.WantCode(answer(fixture.SecretCaller(d.NewTenant()), all[0].ID, `true`), domain.NotFound, "pause_not_found")
		if err := answer(d.Caller, all[0].ID, `true`); err != nil {
			t.Fatal(err)
		}
		d.WantCode(answer(d.Caller, all[0].ID, `true`), domain.Conflict, "already_answered")
		next := d.open(run.PauseFilter{})
		if len(next) != 1 || next[0].Node != "b" || next[0].Question.Prompt != "Sure?" {
			t.Fatalf("then these wait: %+v", next)
		}
		if _, err := d.Runs.Cancel(d.Context(), d.Caller, domain.IdempotencyKey{}, id, ""); err != nil {
			t.Fatal(err)
		}
		if left := d.open(run.PauseFilter{}); len(left) > 0 {
			t.Errorf("after the end these wait: %+v", left)
		}
		d.WantCode(answer(d.Caller, next[0].ID, `"x"`), domain.Conflict, "not_paused")
	})
}

func TestOfTwoWhoAnswerOneIsFirst(t *testing.T) {
	onEachStore(t, func(d *env) {
		id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
		pause := d.open(run.PauseFilter{})[0].ID
		var errs [4]error
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				errs[i] = runs.NewQuestions(d.Runs).Answer(d.Context(), d.Caller, domain.IdempotencyKey{}, pause, run.AnswerCall{Input: json.RawMessage("true")})
			})
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			d.WantCode(err, domain.Conflict, "already_answered")
		}
		if won != 1 || d.Get(id).Status() != run.StatusCompleted {
			t.Errorf("%d were first", won)
		}
	})
}

func TestAPageFollowsItsQuestion(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{assignedNode, `b input {"prompt": "Sure?"}`}, []string{"a -> b"})
	id := d.Accept(ver, 1, fixture.RunOptions{Payload: `{"n": 5}`})[0]
	pages := runs.NewPages(d.Runs, memory.New(d.Clock))
	from := netip.MustParseAddr("192.0.2.1")
	show := func(node string) inbound.AnswerPage {
		t.Helper()
		page, err := pages.Show(t.Context(), from, d.Key.LinkToken(run.Link{Tenant: d.Owner, Run: id, Node: "a"}))
		if node == "b" {
			page, err = pages.Show(t.Context(), from, d.Key.LinkToken(run.Link{Tenant: d.Owner, Run: id, Node: "b"}))
		}
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	d.Same(inbound.NotAskedYet, show("a").Status)
	d.Begin(id)
	page := show("a")
	if page.Status != inbound.WaitsForAnswer || page.Question.Prompt != "Pay 5?" {
		t.Errorf("%+v", page)
	}
	token := d.Key.LinkToken(run.Link{Tenant: d.Owner, Run: id, Node: "a"})
	d.WantCode(pages.Answer(t.Context(), from, d.Key.LinkToken(run.Link{Tenant: d.Owner, Run: id, Node: "b"}), page.Seq, json.RawMessage("true")), domain.NotFound, "pause_not_found")
	if err := pages.Answer(t.Context(), from, token, page.Seq, json.RawMessage("true")); err != nil {
		t.Fatal(err)
	}
	if page = show("a"); page.Status != inbound.AnswerGiven || page.By == nil || page.By.Kind != tenant.ByLink || page.EndedAt == nil {
		t.Errorf("%+v", page)
	}
	if _, err := d.Runs.Cancel(t.Context(), d.Caller, domain.IdempotencyKey{}, id, ""); err != nil {
		t.Fatal(err)
	}
	d.Same(inbound.AnswerCancelled, show("b").Status)
	_, err := pages.Show(t.Context(), from, token+"x")
	d.WantCode(err, domain.NotFound, "page_not_found")
	for range 100 {
		if _, err = pages.Show(t.Context(), from, token); err != nil {
			break
		}
	}
	d.WantCode(err, domain.RateLimited, "rate_limited")
	if _, err = pages.Show(t.Context(), netip.MustParseAddr("192.0.2.2"), token); err != nil {
		t.Error(err)
	}
}
