package runs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain/run"
)

var (
	twoTransforms = []string{
		`hook trigger_webhook`, `total transform {"expression": "({ total: input.n + 1 })"}`, `text transform {"expression": "({ ...input, text: 'n is ' + input.total })"}`,
	}
	twoTransformEdges = []string{"hook -> total", "total -> text"}
)

func TestARunOfNodesThatOnlyComputeIsRecordedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorkshop(t, store)
		ver := w.version(twoTransforms, twoTransformEdges)
		w.start()
		id := w.accept(ver, 1, accepted{})[0]
		r := w.until(id, "the run completes", finished)
		if output, _ := r.Output("text"); r.Status() != run.StatusCompleted || string(output) != `{"text":"n is 2","total":2}` {
			t.Errorf("%s: %s", r.Status(), output)
		}
		want := []string{"run.started", "node.completed hook", "node.completed total", "node.completed text", "run.completed"}
		if diff := cmp.Diff(want, w.history(id)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"run.started", "run.completed"}, w.events(id)); diff != "" {
			t.Error(diff)
		}
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		if w.store.wrote > 4 { // claims at the start and on word, one record
			t.Errorf("%d units", w.store.wrote)
		}
		if err := w.errors(); err != nil {
			t.Error(err)
		}
	})
}
