package runs

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// unread is returned by a unit that met runs about an entity of which nobody has written
// down what they wait for.
type unread struct{ entity string }

func (*unread) Error() string { return "it is not known what some runs wait for" }

// maxLearnt is of how many runs one unit of work writes down what they wait for.
const maxLearnt = 64

// learn reads the runs about an entity of which it is not known what they wait for, and
// writes it down, in units of its own: whatever becomes of the event, the next one finds it
// done. What a gateway of another version moves meanwhile, and what cannot be read, is left
// to the unit that offers the event, which fails only if it comes to that.
func (s *shot) learn(ctx context.Context, entity string) {
	s.learnt = true
	q := outbound.AwaitingQuery{Entity: entity, Unread: true, Limit: maxLearnt}
	for {
		var page []run.Awaiting
		_ = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			if page, err = st.Runs.Runs.Awaiting(ctx, s.who.Tenant, q); err != nil {
				return err
			}
			o := &offering{shot: s, st: st}
			for _, a := range page {
				if err := o.note(ctx, a); err != nil {
					return err
				}
			}
			return o.flush(ctx)
		})
		if len(page) < q.Limit { // or they could not be found
			return
		}
		q.After = &page[len(page)-1]
	}
}

// note writes down what a run waits for.
func (o *offering) note(ctx context.Context, a run.Awaiting) error {
	r, err := o.st.Runs.Runs.Get(ctx, o.who.Tenant, a.ID)
	if errors.Is(err, domain.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.record(ctx, r, r.Seq(), run.Step{})
}
