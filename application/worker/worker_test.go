package worker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
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
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		ver := w.NewVersion(twoTransforms, twoTransformEdges)
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.Eventually("the run completes", func() bool { return fixture.Finished(w.Stored(id)) }) // which signals nothing
		r := w.Stored(id)
		if output, _ := r.Output("text"); r.Status() != run.StatusCompleted || string(output) != `{"text":"n is 2","total":2}` {
			t.Errorf("%s: %s", r.Status(), output)
		}
		want := []string{"run.started", "node.completed hook", "node.completed total", "node.completed text", "run.completed"}
		if diff := cmp.Diff(want, w.History(id)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"run.started", "run.completed"}, w.Events(id)); diff != "" {
			t.Error(diff)
		}
		w.Store.Mu.Lock()
		defer w.Store.Mu.Unlock()
		if w.Store.Commits > 4 { // claims at the start and on word, one record
			t.Errorf("%d units", w.Store.Commits)
		}
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}
