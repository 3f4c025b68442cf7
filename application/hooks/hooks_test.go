package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/hooks"
	"github.com/sluicehq/sluice/application/jobs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is a gateway with a trigger that has a hook.
type env struct {
	*fixture.Env
	hooks   *hooks.Service
	trigger *trigger.Trigger
	token   string
}

func onEachStore(t *testing.T, config string, d hook.Draft, test func(e *env)) {
	t.Helper()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		e := &env{Env: fixture.New(t, store)}
		e.trigger = e.NewSimpleTrigger(config)
		e.hooks = e.service(e.Raw)
		var r domain.Rules
		draft := d // the tests of both stores run at the same time
		draft.Scheme = hook.ParseScheme(&r, "", []byte(`{"kind":"none"}`))
		draft.Limits = hook.Limits{PerMinute: 100_000}
		made, err := e.hooks.Create(e.Context(), e.Caller, domain.IdempotencyKey{}, e.trigger.ID(), draft)
		if err != nil {
			t.Fatal(err)
		}
		_, e.token, _ = strings.Cut(made.URL, hooks.Prefix)
		test(e)
	})
}

// service is that of a process of its own.
func (e *env) service(work outbound.UnitOfWork) *hooks.Service {
	known := directory.New(e.Raw)
	known.SetReliable(true)
	return hooks.New(work, directory.NewHooks(known, expression.Compiler{}), e.NewFiring(work), e.Runs, expression.Checker{}, memory.New(e.Clock), e.Clock, system.Random{},
		fixture.UnlimitedBudgets(), func() string { return "https://hooks.example.com" })
}

// deliver sends JSON to the address.
func (e *env) deliver(to *hooks.Service, body string) (hook.Answer, error) {
	client := netip.MustParseAddr("192.0.2.1")
	in, err := to.Enter(e.Context(), e.token, client)
	defer in.Leave()
	if err != nil {
		return hook.Answer{}, err
	}
	return to.Receive(e.Context(), in, hook.Request{Method: "POST", Token: e.token, Headers: hook.Headers{"content-type": {"application/json"}}, Body: []byte(body)}, client)
}

// received lists what the hook has received, the oldest first.
func (e *env) received() []*hook.Received {
	e.Helper()
	page, err := domain.NewPageRequest(100, 0)
	if err != nil {
		e.Fatal(err)
	}
	found, err := e.hooks.List(e.Context(), e.Caller, e.trigger.ID(), hook.ReceivedFilter{}, domain.Query{PageRequest: page, Sorting: domain.Sorting{Field: "receivedAt", Ascending: true}})
	if err != nil {
		e.Fatal(err)
	}
	return found.Items
}

func text(s string) *string { return &s }

const deadly = 40 // units

// dying are units of work of processes that die now and then, before a unit has committed or
// afterwards, until they are not killed any more.
func dying(work outbound.UnitOfWork) *portstest.DyingUnits {
	return &portstest.DyingUnits{
		UnitOfWork: work,
		Before:     func(n int64) bool { return n < deadly && n%3 == 0 },
		After:      func(n int64) bool { return n < deadly && n%4 == 0 },
	}
}

// numbered are items i0, i1 and so on.
func numbered(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"i%d"}`, i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// deliverDying repeats a delivery, as senders do, until a process lives long enough to answer it.
func (e *env) deliverDying(body string) {
	e.Helper()
	work := dying(e.Raw)
	for died := 0; ; died++ {
		_, err := e.deliver(e.service(work), body)
		switch {
		case err == nil && died < 2:
			e.Errorf("the process died %d times only", died)
			return
		case err == nil:
			return
		case !errors.Is(err, portstest.ErrDied) || died > 300:
			e.Fatal(err)
		}
	}
}

// hasRuns holds how many runs each of n items has against what it should be.
func (e *env) hasRuns(n, want int) {
	e.Helper()
	e.Do(func(ctx context.Context, st outbound.Stores) error {
		for i := range n {
			entity := fmt.Sprintf("i%d", i)
			page, err := domain.NewPageRequest(10, 0)
			if err != nil {
				return err
			}
			found, err := st.Runs.Runs.List(ctx, tenant.All(e.Owner), run.Filter{Entity: &entity}, domain.Query{PageRequest: page})
			if err != nil {
				return err
			}
			if found.Total != want {
				e.Errorf("%s has %d runs, not %d", entity, found.Total, want)
			}
		}
		return nil
	})
}

func TestEachItemStartsOneRunWhateverProcessDiesInBetween(t *testing.T) {
	const n = 90
	for name, c := range map[string]struct {
		dedupe *string
		again  int // runs of an item when the whole was answered, and comes once more
	}{
		"with keys":                  {dedupe: text("payload.body.id"), again: 1},
		"without keys":               {again: 2},
		"with a key for every other": {dedupe: text("payload.index % 2 ? payload.body.id : null")},
	} {
		t.Run(name, func(t *testing.T) {
			draft := hook.Draft{Config: hook.Config{Split: text("payload.body"), Dedupe: c.dedupe, Entity: text("payload.body.id")}}
			onEachStore(t, `{}`, draft, func(e *env) {
				e.deliverDying(numbered(n))
				e.hasRuns(n, 1)
				if c.again == 0 {
					return
				}
				if _, err := e.deliver(e.hooks, numbered(n)); err != nil {
					e.Fatal(err)
				}
				e.hasRuns(n, c.again)
			})
		})
	}
}

func TestADeliveryThatIsCutOffByTheRateLimitGoesOnWhereItStopped(t *testing.T) {
	onEachStore(t, `{"rateLimit":{"maxRequests":4,"windowMs":60000}}`, hook.Draft{Config: hook.Config{Split: text("payload.body"), Entity: text("payload.body.id")}}, func(e *env) {
		for attempt := 1; ; attempt++ {
			_, err := e.deliver(e.hooks, numbered(10))
			if err == nil {
				e.Same("3", fmt.Sprint(attempt))
				break
			}
			if fixture.Code(err) != "trigger_rate_limit_exceeded" || attempt == 10 {
				e.Fatal(err)
			}
			e.Clock.Set(e.Clock.Now().Add(time.Minute))
		}
		e.hasRuns(10, 1)
	})
}

func TestADeliveryOfAnEventResumesWhoWaitsForIt(t *testing.T) {
	onEachStore(t, `{}`, hook.Draft{Config: hook.Config{Event: text("payload.body.type"), Entity: text("payload.body.order"), Dedupe: text("payload.body.id"), Ingest: true}}, func(e *env) {
		waits := e.NewVersion([]string{`a waitForEvent {"event": "paid"}`}, nil)
		waiting := e.Waiting(waits, "o1", 1)[0]
		for range 2 {
			if _, err := e.deliver(e.hooks, `{"id":"e1","type":"paid","order":"o1"}`); err != nil {
				e.Fatal(err)
			}
		}
		if _, err := e.deliver(e.hooks, `{"id":"e2","type":"paid","order":"o2"}`); err != nil {
			e.Fatal(err)
		}
		got := fixture.Lines(e.received(), func(d *hook.Received) string {
			return fmt.Sprint(d.Verdict, " ", len(d.Runs), " ", len(d.Runs) > 0 && d.Runs[0] == waiting)
		})
		e.Same("accepted 1 true, duplicate 1 true, accepted 1 false", got)
		if status := e.Get(waiting).Status(); status == run.StatusPaused {
			e.Errorf("the run that waits is %s", status)
		}
	})
}

func TestAJobReplaysTheDeliveriesOfATime(t *testing.T) {
	onEachStore(t, `{}`, hook.Draft{Config: hook.Config{Dedupe: text("payload.body.id"), Filter: text("payload.body.id > 0")}}, func(e *env) {
		begin := e.Clock.Now()
		for _, id := range []int{0, 1, 2, 2} {
			if _, err := e.deliver(e.hooks, fmt.Sprintf(`{"id":%d}`, id)); err != nil {
				e.Fatal(err)
			}
			e.Clock.Set(e.Clock.Now().Add(time.Second))
		}
		end := e.Clock.Now()
		j, err := e.hooks.ReplayAll(e.Context(), e.Caller, domain.IdempotencyKey{}, e.trigger.ID(), hook.ReceivedFilter{From: &begin, To: &end}, nil)
		if err != nil || j.Matched() != 4 {
			e.Fatalf("%v: %+v", err, j)
		}
		known := directory.New(e.Raw)
		known.SetReliable(true)
		for range 20 {
			w := jobs.NewWorker(e.Raw, known, expression.Compiler{}, e.RecordedSignals, e.Clock, system.Random{}, e.Key, fixture.UnlimitedBudgets(), e.NewAllowance(), e.hooks)
			if _, err := w.Step(e.Context(), func(err error) { e.Error(err) }); err != nil {
				e.Fatal(err)
			}
		}
		e.Do(func(ctx context.Context, st outbound.Stores) error {
			j, err = st.Runs.Jobs.Get(ctx, tenant.All(e.Owner), j.ID())
			return err
		})
		if j.Status() != job.Completed || j.Done() != 4 || j.Failed() != 0 {
			e.Errorf("the job is %s: %d done, %v", j.Status(), j.Done(), j.Failures())
		}
		replays := make(map[hook.DeliveryID]string)
		for _, d := range e.received() {
			if d.ReplayOf != "" {
				replays[d.ReplayOf] += string(d.Verdict)
			}
		}
		if len(replays) != 4 {
			e.Errorf("%v were replayed", replays)
		}
		runs := 0
		for _, s := range e.RunsOf(e.Owner) {
			if s.ReplayOf != "" {
				runs++
			}
		}
		if runs != 3 {
			e.Errorf("%d runs repeat a delivery", runs)
		}
	})
}

func TestARunIsWaitedForAndGivesTheAnswer(t *testing.T) {
	var r domain.Rules
	respond := hook.ParseRespond(&r, "", []byte(`{"mode":"whenDone","timeoutMs":20000}`))
	onEachStore(t, `{}`, hook.Draft{Config: hook.Config{Respond: respond}}, func(e *env) {
		stop := e.Work(e.NewWorker(e.Store, e.Signals, fixture.WorkerOptions))
		got, err := e.deliver(e.hooks, `{}`)
		stop()
		if err != nil || got.Status != 200 || string(got.Body) != "1" || got.ContentType != "application/json" {
			e.Errorf("the answer is %d %q: %v", got.Status, got.Body, err)
		}
		short := hook.ParseRespond(&r, "", []byte(`{"mode":"whenDone","timeoutMs":100}`))
		if _, err := e.hooks.Update(e.Context(), e.Caller, e.trigger.ID(), domain.Expected{}, hook.Patch{Respond: &short}); err != nil {
			e.Fatal(err)
		}
		got, err = e.deliver(e.service(e.Raw), `{}`) // nobody works
		if err != nil || got.Status != 202 || !strings.HasPrefix(string(got.Body), `{"runId":"run_`) {
			e.Errorf("the answer is %d %s: %v", got.Status, got.Body, err)
		}
	})
}

func TestAHookHasLimitsOfItsOwn(t *testing.T) {
	onEachStore(t, `{}`, hook.Draft{}, func(e *env) {
		limits := hook.Limits{PerMinute: 3, Concurrent: 2}
		if _, err := e.hooks.Update(e.Context(), e.Caller, e.trigger.ID(), domain.Expected{}, hook.Patch{Limits: &limits}); err != nil {
			e.Fatal(err)
		}
		to := e.service(e.Raw)
		client := netip.MustParseAddr("192.0.2.1")
		var leave []func()
		for i, want := range []string{"", "", "too_many_concurrent_requests", "rate_limit_exceeded"} {
			in, err := to.Enter(e.Context(), e.token, client)
			leave = append(leave, in.Leave)
			if want == "" && err != nil || want != "" && fixture.Code(err) != want {
				e.Errorf("delivery %d: %v", i+1, err)
			}
		}
		if to.Figures().Oldest() <= 0 {
			e.Error("no delivery waits")
		}
		for _, fn := range leave {
			fn()
			fn()
		}
		if waited := to.Figures().Oldest(); waited != 0 || to.Figures().Refused("limit") != 2 {
			e.Errorf("one waits for %s, and %d were refused", waited, to.Figures().Refused("limit"))
		}
	})
}
