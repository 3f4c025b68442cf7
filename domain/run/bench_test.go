package run_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain/run"
)

const order = `{"order":{"id":"o-7","customer":"Ana","lines":[{"sku":"a","price":2.5,"count":2},{"sku":"b","price":10,"count":1},{"sku":"c","price":0.1,"count":30}]},"source":"shop"}`

// benchmarkPlan is a webhook, two transforms and, with a call, a node with an
// effect outside.
func benchmarkPlan(b *testing.B, call bool) *run.Plan {
	lines := []string{
		`hook trigger_webhook {"_triggerId": "trg_1"}`,
		expr("total", "({ id: input.order.id, total: input.order.lines.reduce((sum, l) => sum + l.price * l.count, 0) })"),
		expr("text", "({ ...input, text: `Order ${input.id}: ${input.total}` })"),
	}
	links := []string{"hook -> total", "total -> text"}
	if call {
		lines = append(lines, `send httpRequest {"url": "https://example.com/orders/{{ input.id }}", "method": "POST", "body": {"text": "{{ input.text }}"}}`)
		links = append(links, "text -> send")
	}
	return plan(b, nodes(lines...), edges(links...))
}

func benchmarkStart(b *testing.B) run.Start {
	s := start(order)
	s.Trigger = fired(b, "trg_1", "orders", "{}")
	return s
}

// BenchmarkAdvance is a webhook that runs through two transforms to its end, with
// what a store would keep of it.
func BenchmarkAdvance(b *testing.B) {
	p, s := benchmarkPlan(b, false), benchmarkStart(b)
	b.ReportAllocs()
	for b.Loop() {
		r := run.New(runID, s, noon)
		step, err := r.Advance(p, run.Event{At: noon, Secret: secret, Fact: run.Started{}})
		if err != nil || !step.Finished || len(run.EncodeProgress(r.State().Progress)) == 0 {
			b.Fatal(err, step)
		}
	}
}

// BenchmarkAdvanceWithCall has an attempt in the middle, before which the run is
// stored and after which it is read again.
func BenchmarkAdvanceWithCall(b *testing.B) {
	p, s := benchmarkPlan(b, true), benchmarkStart(b)
	b.ReportAllocs()
	for b.Loop() {
		r := run.New(runID, s, noon)
		if _, err := r.Advance(p, run.Event{At: noon, Secret: secret, Fact: run.Started{}}); err != nil {
			b.Fatal(err)
		}
		r = stored(r.State()).restored(b)
		output := map[string]any{"status": 200.0, "headers": map[string]any{"content-type": "application/json"}, "body": map[string]any{"ok": true}}
		step, err := r.Advance(p, run.Event{At: noon, Secret: secret, Fact: run.AttemptCompleted{Node: "send", Attempt: 1, Output: output}})
		if err != nil || !step.Finished || len(run.EncodeProgress(r.State().Progress)) == 0 {
			b.Fatal(err, step)
		}
	}
}

func BenchmarkEncodeProgress(b *testing.B) {
	p := finished(b).Progress
	b.ReportAllocs()
	for b.Loop() {
		run.EncodeProgress(p)
	}
}

func BenchmarkDecodeProgress(b *testing.B) {
	text := run.EncodeProgress(finished(b).Progress)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := run.DecodeProgress(text); err != nil {
			b.Fatal(err)
		}
	}
}

func finished(b *testing.B) run.State {
	r := run.New(runID, benchmarkStart(b), noon)
	if _, err := r.Advance(benchmarkPlan(b, false), run.Event{At: noon, Fact: run.Started{}}); err != nil {
		b.Fatal(err)
	}
	return r.State()
}

func BenchmarkNewPlan(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		benchmarkPlan(b, true)
	}
}
