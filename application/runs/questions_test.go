package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
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
		ana := d.Caller
		ana.Key = "key_of_ana"
		var errs [4]error
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				errs[i] = runs.NewQuestions(d.Runs).Answer(d.Context(), ana, domain.IdempotencyKey{}, pause, run.AnswerCall{Input: json.RawMessage("true")})
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
			if !strings.Contains(err.Error(), "the key key_of_ana") {
				t.Errorf("who was second learns %q", err)
			}
		}
		if won != 1 || d.Get(id).Status() != run.StatusCompleted {
			t.Errorf("%d were first", won)
		}
	})
}

func (d *env) pages() *runs.Pages { return runs.NewPages(d.Runs, memory.New(d.Clock)) }

func (d *env) link(id run.ID, of workflow.NodeID) string {
	return d.Key.LinkToken(run.Link{Tenant: d.Owner, Run: id, Node: of})
}

// page shows the page of a node.
func (d *env) page(id run.ID, of workflow.NodeID) inbound.AnswerPage {
	d.Helper()
	page, err := d.pages().Show(d.Context(), d.link(id, of))
	if err != nil {
		d.Fatal(err)
	}
	return page
}

func TestAPageFollowsItsQuestion(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{assignedNode, `b input {"prompt": "Sure?"}`}, []string{"a -> b"})
	id := d.Accept(ver, 1, fixture.RunOptions{Payload: `{"n": 5}`})[0]
	d.Same(inbound.NotAskedYet, d.page(id, "a").Status)
	d.Begin(id)
	page := d.page(id, "a")
	if page.Status != inbound.WaitsForAnswer || page.Question.Prompt != "Pay 5?" {
		t.Errorf("%+v", page)
	}
	d.WantCode(d.pages().Answer(t.Context(), d.link(id, "b"), page.Seq, json.RawMessage("true")), domain.NotFound, "pause_not_found")
	if err := d.pages().Answer(t.Context(), d.link(id, "a"), page.Seq, json.RawMessage("true")); err != nil {
		t.Fatal(err)
	}
	if page = d.page(id, "a"); page.Status != inbound.AnswerGiven || page.By == nil || page.By.Kind != tenant.ByLink || page.EndedAt == nil {
		t.Errorf("%+v", page)
	}
	if page = d.page(id, "b"); page.Status != inbound.WaitsForAnswer || page.Question.Prompt != "Sure?" {
		t.Errorf("%+v", page)
	}
	if _, err := d.Runs.Cancel(t.Context(), d.Caller, domain.IdempotencyKey{}, id, ""); err != nil {
		t.Fatal(err)
	}
	d.Same(inbound.AnswerCancelled, d.page(id, "b").Status)
	_, err := d.pages().Show(t.Context(), d.link(id, "a")+"x")
	d.WantCode(err, domain.NotFound, "page_not_found")
	_, err = d.pages().Show(t.Context(), d.link("run_7zzzzzzzzzzzzzzzzzzzzzzzzz", "a"))
	d.WantCode(err, domain.NotFound, "page_not_found")
}

func TestTheLinkOfASimulationLeadsToAPageThatSaysSo(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`mail transform {"expression": "link('b')"}`, `each forEach {"items": "[1]"}`, `each/inner transform {"expression": "link('b')"}`, `b input {"prompt": "Sure?"}`}, []string{"mail -> each", "each -> b"})
	simulated, err := d.Runs.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{})
	if err != nil {
		t.Fatal(err)
	}
	var given strings.Builder
	for _, n := range simulated.Run.State().Nodes {
		given.Write(n.Output)
	}
	found := regexp.MustCompile(`/a/([^"]+)`).FindAllStringSubmatch(given.String(), -1)
	if len(found) < 2 {
		t.Fatalf("the links are %v", found)
	}
	for _, link := range found {
		page, err := d.pages().Show(t.Context(), link[1])
		if err != nil || page.Status != inbound.AnswerSimulated || page.Tenant != d.Owner {
			t.Errorf("%+v, %v", page, err)
		}
		d.WantCode(d.pages().Answer(t.Context(), link[1], 1, json.RawMessage("true")), domain.NotFound, "page_not_found")
	}
}

func TestAPageSaysThatTheTimeIsOver(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Accept(d.NewVersion([]string{`a input {"timeoutMs": 1000}`, `b input`}, nil), 1, fixture.RunOptions{})[0]
	d.Begin(id)
	waits := d.page(id, "a")
	d.Same(inbound.WaitsForAnswer, waits.Status)
	var late inbound.AnswerPage
	d.Eventually("the time is over", func() bool { late = d.page(id, "a"); return late.Status != inbound.WaitsForAnswer })
	if late.Status != inbound.AnswerExpired || !late.EndedAt.Equal(*waits.Until) {
		t.Errorf("before anything is recorded it shows %+v", late)
	}
	d.WantCode(d.pages().Answer(t.Context(), d.link(id, "a"), waits.Seq, json.RawMessage(`"x"`)), domain.Conflict, "expired")
	d.Same(inbound.AnswerExpired, d.page(id, "a").Status)
	d.Same(inbound.AnswerCancelled, d.page(id, "b").Status)
	if _, err := d.Runs.Retry(t.Context(), d.Caller, domain.IdempotencyKey{}, id); err != nil {
		t.Fatal(err)
	}
	if again := d.page(id, "a"); again.Status != inbound.WaitsForAnswer || again.Seq == waits.Seq {
		t.Errorf("once the run is retried it shows %+v", again)
	}
}

func TestPagesOfASuspendedTenantTakeNoAnswers(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	node := d.Get(id).Nodes()[0]
	suspend := func(change func(*tenant.Tenant, time.Time)) {
		t.Helper()
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			ten, err := st.Tenants.Get(ctx, d.Owner)
			if err != nil {
				return err
			}
			change(ten, d.Clock.Now())
			return st.Tenants.Update(ctx, ten)
		})
	}
	suspend((*tenant.Tenant).Suspend)
	if page := d.page(id, node.ID); page.Status != inbound.AnswerSuspended || page.Question.Prompt != "" {
		t.Errorf("%+v", page)
	}
	d.WantCode(d.pages().Answer(t.Context(), d.link(id, node.ID), node.Pause.Seq, json.RawMessage("true")), domain.NotFound, "page_not_found")
	suspend((*tenant.Tenant).Resume)
	d.Same(inbound.WaitsForAnswer, d.page(id, node.ID).Status)
}

func TestPagesAreLimitedByAddress(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	pages := d.pages()
	enter := func(from string) error { return pages.Enter(t.Context(), netip.MustParseAddr(from)) }
	for range 60 {
		if err := errors.Join(enter("192.0.2.1"), enter("2001:db8::1")); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{"192.0.2.1", "::ffff:192.0.2.1", "2001:db8::2"} { // whoever has an address of IPv6 has all of its network
		d.WantCode(enter(from), domain.RateLimited, "rate_limited")
	}
	if err := errors.Join(enter("192.0.2.2"), enter("2001:db8:0:1::1")); err != nil {
		t.Error(err)
	}
	d.Clock.Set(d.Clock.Now().Add(time.Minute))
	if err := enter("192.0.2.1"); err != nil {
		t.Error(err)
	}
}

func TestItIsNotedWhoAnsweredByWhateverWay(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{fixture.InputNode}, nil)
	who := d.Caller
	who.Key, who.Narrowing.Subject = "key_1", "ana"
	key := tenant.Actor{Kind: tenant.ByKey, ID: "key_1", Subject: "ana"}
	answer := fixture.Body("true")
	for way, c := range map[string]struct {
		answer func(id run.ID, asked run.NodeState) error
		want   tenant.Actor
	}{
		"its token": {func(id run.ID, _ run.NodeState) error {
			return d.Runs.Resume(t.Context(), who, domain.IdempotencyKey{}, run.ResumeCall{Run: id, Token: d.token(id), Input: answer})
		}, key},
		"its question": {func(id run.ID, asked run.NodeState) error {
			return runs.NewQuestions(d.Runs).Answer(t.Context(), who, domain.IdempotencyKey{}, run.NewPauseID(id, asked.Pause.Seq), run.AnswerCall{Input: answer})
		}, key},
		"an event": {func(id run.ID, _ run.NodeState) error {
			entity := "an event"
			_, err := d.Firing.Ingest(t.Context(), who, domain.IdempotencyKey{}, run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{Entity: &entity, EventData: answer}}})
			return err
		}, key},
		"its page": {func(id run.ID, asked run.NodeState) error {
			return d.pages().Answer(t.Context(), d.link(id, asked.ID), asked.Pause.Seq, json.RawMessage("true"))
		}, tenant.Actor{Kind: tenant.ByLink}},
	} {
		id := d.Waiting(ver, way, 1)[0]
		if err := c.answer(id, d.Get(id).Nodes()[0]); err != nil {
			t.Errorf("%s: %v", way, err)
			continue
		}
		r := d.Get(id)
		if by := r.Nodes()[0].Pause.AnsweredBy; r.Status() != run.StatusCompleted || by == nil || *by != c.want {
			t.Errorf("by %s it was answered by %v, not %v", way, by, c.want)
		}
	}
}

// viewer may read runs and not answer.
func (d *env) viewer() tenant.Caller {
	who := d.Caller
	who.KeyType, who.Key = tenant.Embed, "emb_1"
	who.Narrowing.Rights = []tenant.Right{tenant.ReadRunsRight}
	return who
}

// Whoever may not answer sees links to answers nowhere, though a node gave one away and the question has its own.
func TestWhoMayNotAnswerSeesNoLinks(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	shout := `{"transformType": "expression", "expression": "({at: link(\"ask\"), to: [link(\"ask\")]})"}`
	ver := d.NewVersion([]string{"mail transform " + shout, `ask input@1.1.0 {"title": "{{ link(\"ask\") }}", "prompt": "Answer at {{ link(\"ask\") }}", "assignee": "ana"}`}, []string{"mail -> ask"})
	id := d.Accept(ver, 1, fixture.RunOptions{})[0]
	d.Begin(id)
	link := d.link(id, "ask")
	seen := func(who tenant.Caller) string {
		t.Helper()
		shown, err := d.Runs.Get(t.Context(), who, id)
		if err != nil {
			t.Fatal(err)
		}
		list, err := runs.NewQuestions(d.Runs).List(t.Context(), who, run.PauseFilter{}, domain.Query{})
		if err != nil {
			t.Fatal(err)
		}
		var entries []run.Entry
		end := errors.New("that is all")
		if err := d.Runs.Follow(t.Context(), who, id, 0, func(more []run.Entry) error {
			entries = append(entries, more...)
			return end
		}); !errors.Is(err, end) {
			t.Fatal(err)
		}
		inputs, _ := d.Runs.Inputs(t.Context(), who, shown.Run, 1<<20)
		return fmt.Sprint(dump(shown.Run.Nodes()), dump(shown.Tokens), dump(list.Items), dump(entries), dump(inputs))
	}
	if all := seen(d.Caller); strings.Count(all, link) != 10 {
		t.Errorf("who may answer sees %d links: %s", strings.Count(all, link), all)
	}
	token := d.Get(id).Tokens(d.Key.Secret(id))["ask"]
	if little := seen(d.viewer()); strings.Contains(little, link) || strings.Contains(little, token) || !strings.Contains(little, "/a/[redacted]") {
		t.Errorf("who may not answer sees %s", little)
	}
	d.WantCode(runs.NewQuestions(d.Runs).Answer(t.Context(), d.viewer(), domain.IdempotencyKey{}, d.open(run.PauseFilter{})[0].ID, run.AnswerCall{}), domain.Forbidden, "permission_missing")
}

// dump is everything in a value, with its raw texts as they are.
func dump(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
