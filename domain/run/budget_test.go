package run_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// advance tells a run a fact within a budget, and lets it compute to its end.
func advance(t testing.TB, p *run.Plan, r *run.Run, b run.Budget, f run.Fact) (steps int) {
	t.Helper()
	for {
		if _, err := r.Advance(p, run.Event{At: noon, Secret: secret, Fact: f, Budget: b}); err != nil {
			t.Fatal(err)
		}
		if steps++; !r.More() {
			return steps
		}
		f = run.TimeReached{}
	}
}

// A run that stops between two pauses that end at the same time goes on with the second at
// once, as one does that takes both in one step.
func TestPausesThatEndTogetherEndTogetherWithASmallBudget(t *testing.T) {
	p := plan(t, nodes(`a transform {"expression": "'x'.repeat(200)"}`, `b wait {"delayMs": 1000}`, `c wait {"delayMs": 1000}`, `d call`), edges("a -> b.k", "c -> d"))
	var want []run.Entry
	for _, steps := range []int64{0, 1} {
		r := run.New(runID, start(`{}`), noon)
		var got []run.Entry
		for _, at := range []time.Time{noon, noon.Add(time.Second)} {
			for more := true; more; more = r.More() {
				var f run.Fact = run.TimeReached{}
				if r.Status() == run.StatusPending {
					f = run.Started{}
				}
				step, err := r.Advance(p, run.Event{At: at, Secret: secret, Fact: f, Budget: run.Budget{Steps: steps}})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, step.History...)
			}
		}
		if steps == 0 {
			want = got
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s", diff)
		}
	}
}

// A node that looks at more than it may fails, and says what to do. What it does not look at
// does not count.
func TestWhatANodeLooksAtIsBounded(t *testing.T) {
	const limit = 200 << 10
	large := `[` + strings.TrimSuffix(strings.Repeat(`[],`, 2000), ",") + `]` // about 112,000 bytes once it is read
	for claim, c := range map[string]struct {
		node string
		want string
	}{
		"the payload alone":               {expr("x", "payload.length"), "completed"},
		"an output under its name":        {expr("x", "nodes.a.length"), "completed"},
		"the payload and an output":       {expr("x", "payload.length + nodes.a.length"), "values_too_large"},
		"two outputs":                     {expr("x", "nodes.a.length + nodes.b.length"), "values_too_large"},
		"any outputs":                     {expr("x", "Object.keys(nodes).length"), "values_too_large"},
		"two edges that are put together": {`x condition {"condition": "true"}`, "values_too_large"},
		"a template of a request":         {`x httpRequest {"url": "https://x.test/{{ payload.length + nodes.b.length }}"}`, "values_too_large"},
		"a merged input":                  {`x call`, "values_too_large"},
	} {
		p := plan(t, nodes(expr("a", "payload.map(x => [])"), expr("b", "payload.map(x => [])"), c.node), edges("a -> x.a", "b -> x.b"))
		r := run.New(runID, start(large), noon)
		advance(t, p, r, run.Budget{ValueBytes: limit}, run.Started{})
		got := string(r.Status())
		if f := r.Failure(); f != nil {
			got = f.Code
			if f.Node != "x" || !strings.Contains(f.Message, "at most 204800") {
				t.Errorf("%s: %+v", claim, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, not %s", claim, got, c.want)
		}
	}
}

// What was read is dropped when there is no room for it next to what is looked at next, and a
// run that looks at one large output after another never holds all of them.
func TestARunHoldsAFewOfItsValuesOnly(t *testing.T) {
	large := `[` + strings.TrimSuffix(strings.Repeat(`[],`, 20_000), ",") + `]`
	lines, links := []string{expr("n0", "payload")}, []string{}
	for i := 1; i < 20; i++ {
		lines = append(lines, expr("n"+text(i), fmt.Sprintf("nodes.n%d.concat([%d])", i-1, i)))
		links = append(links, fmt.Sprintf("n%d -> n%d", i-1, i))
	}
	p := plan(t, nodes(lines...), edges(links...))
	r := run.New(runID, start(large), noon)
	b := run.Budget{ValueBytes: 4 << 20}
	most := int64(0)
	var f run.Fact = run.Started{}
	for {
		if demand := r.Demand(b, f); demand > run.MaxDemand(b) {
			t.Fatalf("one step takes %d bytes, and the largest run %d", demand, run.MaxDemand(b))
		}
		if _, err := r.Advance(p, run.Event{At: noon, Fact: f, Budget: b}); err != nil {
			t.Fatal(err)
		}
		if most = max(most, r.Memory()); !r.More() {
			break
		}
		f = run.TimeReached{}
	}
	if r.Status() != run.StatusCompleted || most == 0 || most > b.ValueBytes {
		t.Errorf("it is %s (%+v), and held %d bytes", r.Status(), r.Failure(), most)
	}
	if r.Forget(); r.Memory() != 0 {
		t.Errorf("it holds %d bytes when it was told to forget them", r.Memory())
	}
}

// What is computed in one step is bounded; a run that has much to compute does it in several.
func TestARunComputesInSteps(t *testing.T) {
	lines, links := []string{expr("n0", "payload.map(x => x + 1)")}, []string{}
	for i := 1; i < 12; i++ {
		lines = append(lines, expr("n"+text(i), fmt.Sprintf("nodes.n%d.map(x => x + 1)", i-1)))
		links = append(links, fmt.Sprintf("n%d -> n%d", i-1, i))
	}
	p := plan(t, nodes(lines...), edges(links...))
	payload := "[" + strings.Repeat("1,", 5_000) + "1]"
	whole := run.New(runID, start(payload), noon)
	if n := advance(t, p, whole, run.Budget{Steps: 1 << 40, OutputBytes: 1 << 40}, run.Started{}); n != 1 {
		t.Errorf("without a bound it takes %d steps", n)
	}
	parts := run.New(runID, start(payload), noon)
	if n := advance(t, p, parts, run.Budget{Steps: 50_000}, run.Started{}); n < 4 || n > 12 {
		t.Errorf("with a bound it takes %d steps", n)
	}
	if !cmp.Equal(stored(whole.State()), stored(parts.State())) {
		t.Error("what comes of it differs")
	}
}

// What an attempt brings while a run has more to compute does not take the place of that.
func TestNothingIsLostThatComesWhileARunComputes(t *testing.T) {
	const heavy = `payload.map(x => payload.map(y => x + y).length).length`
	p := plan(t, nodes(`c call`, expr("a", heavy), expr("b1", heavy), expr("b2", heavy), expr("b3", heavy), expr("d", "1")),
		edges("a -> b1", "a -> b2", "a -> b3", "c -> d"))
	r := run.New(runID, start("[1"+strings.Repeat(",1", 100)+"]"), noon)
	b := run.Budget{Steps: 1000}
	if _, err := r.Advance(p, run.Event{At: noon, Fact: run.Started{}, Budget: b}); err != nil || !r.More() {
		t.Fatal(err, r.More())
	}
	advance(t, p, r, b, run.AttemptCompleted{Node: "c", Attempt: 1, Output: map[string]any{}})
	if done := len(r.Executed()); r.Status() != run.StatusCompleted || done != 6 {
		t.Errorf("the run is %s after %d of 6 nodes", r.Status(), done)
	}
}

// The conditions of the edges that leave a node share a bound.
func TestTheConditionsOfANodesEdgesAreBoundedTogether(t *testing.T) {
	lines, links := []string{expr("a", "1")}, []string{}
	for i := range 60 {
		lines = append(lines, expr("n"+text(i), "1"))
		links = append(links, fmt.Sprintf("a -> n%d payload.map(x => x + 1).length > 0", i))
	}
	w := begin(t, plan(t, nodes(lines...), edges(links...)), start("["+strings.Repeat("1,", 10_000)+"1]"))
	if f := w.run.Failure(); f == nil || f.Code != run.CodeEdgeCondition || !strings.Contains(f.Message, "within 1000000 steps together") {
		t.Errorf("the run is %s, %+v", w.run.Status(), f)
	}
}

// Attempts bear what they send where it is small. The rest is computed when they are made.
func TestAttemptsLeaveOutWhatIsLarge(t *testing.T) {
	const body = `{"url": "https://x.test/", "method": "POST", "body": "{{ payload }}"}`
	var lines []string
	for i := range 10 {
		lines = append(lines, "n"+text(i)+" httpRequest "+body)
	}
	p := plan(t, nodes(lines...), nil)
	r := run.New(runID, start(`"`+strings.Repeat("x", 60_000)+`"`), noon)
	step, err := r.Advance(p, run.Event{At: noon, Fact: run.Started{}})
	if err != nil || len(step.Execute) != 10 {
		t.Fatal(err, len(step.Execute))
	}
	deferred := 0
	for _, e := range step.Execute {
		if e.Deferred {
			deferred++
			if e.Config != nil || e.Input != nil {
				t.Errorf("%s bears what it has left out", e.Node)
			}
		}
		whole, err := r.Prepare(p, e)
		if err != nil || whole.Deferred || len(fmt.Sprint(whole.Config["body"])) != 60_000 {
			t.Errorf("%s: %v", e.Node, err)
		}
		if again, err := r.Prepare(p, whole); err != nil || fmt.Sprint(again) != fmt.Sprint(whole) {
			t.Errorf("%s is prepared again to another attempt: %v", e.Node, err)
		}
	}
	if deferred < 5 || deferred > 9 {
		t.Errorf("%d of 10 attempts leave something out", deferred)
	}
	if _, err := r.Prepare(p, run.Execute{Node: "absent", Deferred: true}); domain.KindOf(err) != domain.Internal {
		t.Errorf("a node that is not there: %v", err)
	}
}

func TestASimulationIsBounded(t *testing.T) {
	lines, links := []string{expr("n0", "payload")}, []string{}
	for i := 1; i < 400; i++ {
		lines = append(lines, expr("n"+text(i), "payload.map(x => x + 1).length"))
		links = append(links, fmt.Sprintf("n%d -> n%d", i-1, i))
	}
	long := plan(t, nodes(lines...), edges(links...))
	payload := "[" + strings.Repeat("1,", 20_000) + "1]"
	_, err := run.Simulate(long, runID, start(payload), noon, run.Outside{})
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != "simulation_too_large" || !strings.Contains(e.Message, "20000000 steps") {
		t.Errorf("much to compute: %v", err)
	}
	var calls []string
	for i := range 30 {
		calls = append(calls, "n"+text(i)+` httpRequest {"url": "https://x.test/", "method": "POST", "body": "{{ payload }}"}`)
	}
	wide := "[" + strings.Repeat("[],", 30_000) + "1]"
	_, err = run.Simulate(plan(t, nodes(calls...), nil), runID, start(wide), noon, run.Outside{})
	if !errors.As(err, &e) || e.Code != "simulation_too_large" || !strings.Contains(e.Message, "would send") {
		t.Errorf("much to send: %v", err)
	}
	enough, asked := errors.New("enough"), 0
	_, err = run.Simulate(long, runID, start(payload), noon, run.Outside{Stop: func() error {
		if asked++; asked > 3 {
			return enough
		}
		return nil
	}})
	if !errors.Is(err, enough) || asked != 4 {
		t.Errorf("a simulation that is to stop: %v after %d times", err, asked)
	}
}
