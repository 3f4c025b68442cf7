package execution_test

import (
	"context"
	"testing"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// env makes steps of runs as a worker does.
type env struct{ *fixture.Env }

func (d env) advance(id run.ID, fact run.Fact) (*run.Run, error) {
	d.Helper()
	known := directory.New(d.Raw)
	known.SetReliable(true)
	r := d.Get(id)
	plan, err := execution.NewPlans(d.Raw, known, expression.Compiler{}, fixture.UnlimitedBudgets(), 0).Of(d.Context(), d.Owner, r.Source())
	if err != nil {
		d.Fatal(err)
	}
	from := r.Seq()
	made, err := r.Advance(plan, run.Event{At: d.Clock.Now(), Secret: d.Key.Secret(id), Fact: fact})
	if err != nil || made.Refused != nil {
		d.Fatal(err, made.Refused)
	}
	return r, d.Raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		_, err := execution.Record(ctx, st, system.Random{}, execution.Step{Made: made, Written: outbound.RunStep{Run: r, From: from}})
		return err
	})
}

func (d env) advances(id run.ID, fact run.Fact) *run.Run {
	d.Helper()
	r, err := d.advance(id, fact)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

// Whoever is to cancel an item because its loop has failed may come to it when that goes on again.
func TestAnItemIsNotCancelledThatIsWantedAgain(t *testing.T) {
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		d := env{fixture.New(t, store)}
		ver := d.NewVersion([]string{`each forEach {"items": "payload.list"}`, "each/call " + fixture.CallNode}, nil)
		id := d.Accept(ver, 1, fixture.RunOptions{Payload: `{"list": [1, 2, 3]}`})[0]
		d.advances(id, run.Started{})
		found, err := d.Runs.List(d.Context(), d.Caller, run.Filter{Parent: id}, domain.Query{Sorting: domain.Sorting{Ascending: true}})
		if err != nil || len(found.Items) != 3 {
			t.Fatal(found, err)
		}
		var items []run.ID
		for _, item := range found.Items {
			items = append(items, item.ID)
			d.advances(item.ID, run.Started{})
		}
		failed := d.advances(items[0], run.AttemptFailed{Node: "call", Attempt: 1, Code: "http_404", Message: "No."})
		d.advances(id, run.ItemsEnded{Node: "each", Count: 3, Items: []run.Outcome{failed.Outcome()}})
		unwanted := run.CancelRequested{Reason: "The run that started this one has ended.", Unwanted: true}
		d.Same(run.StatusCancelled, d.advances(items[1], unwanted).Status())
		d.advances(id, run.RetryRequested{})
		_, err = d.advance(items[2], unwanted)
		d.WantCode(err, domain.Conflict, execution.LoopGoesOn)
		d.Same(run.StatusRunning, d.Get(items[2]).Status())
		d.Same(run.StatusCancelled, d.advances(items[2], run.CancelRequested{Reason: "By a person."}).Status())
	})
}
