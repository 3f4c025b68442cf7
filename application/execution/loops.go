package execution

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// LoopGoesOn is the code of a step that ends an item because nobody waits for it, where somebody
// does again.
const LoopGoesOn = "loop_goes_on"

// moveLoops keeps what loops begin with steps, counts the steps of items, and starts the runs of
// those whose turn it is. It returns the runs that are to be looked at.
func moveLoops(ctx context.Context, st outbound.Stores, random outbound.Random, all []Step) (roused []run.ID, err error) {
	var moves []outbound.LoopMove
	unwanted := make(map[outbound.LoopKey]bool)
	models := make(map[outbound.LoopKey]*run.Run) // of the next items: the run of the node, or of one of its items
	for _, one := range all {
		r := one.Written.Run
		for _, start := range one.Made.Loops {
			if err := st.Runs.Loops.Begin(ctx, r, start, run.ID(random.ID(run.IDPrefix))); err != nil {
				return nil, err
			}
			key := outbound.LoopKey{Tenant: r.Tenant(), Run: r.ID(), Node: start.Node}
			models[key] = r
			moves = append(moves, outbound.LoopMove{Loop: key})
		}
		if len(one.Made.Left) > 0 {
			if err := st.Runs.Loops.Leave(ctx, r, one.Made.Left...); err != nil {
				return nil, err
			}
		}
		if r.IsItem() && one.Made.Turned {
			key := outbound.LoopKey{Tenant: r.Tenant(), Run: r.Parent(), Node: r.ParentNode()}
			if models[key] == nil {
				models[key] = r
			}
			unwanted[key] = unwanted[key] || one.Made.Unwanted
			moves = append(moves, outbound.LoopMove{Loop: key, Was: one.Made.Was, Is: r.Status()})
		}
	}
	if len(moves) == 0 {
		return nil, nil
	}
	turns, err := st.Runs.Loops.Move(ctx, moves...)
	if err != nil {
		return nil, err
	}
	for _, turn := range turns {
		if unwanted[turn.Loop] && !turn.Left {
			return nil, domain.Fail(domain.Conflict, LoopGoesOn, "The run of the loop was retried in the meantime, and waits for its items again.")
		}
		begun, err := startItems(ctx, st, models[turn.Loop], turn)
		if err != nil {
			return nil, err
		}
		if roused = append(roused, begun...); turn.Woke {
			roused = append(roused, turn.Loop.Run)
		}
	}
	return roused, nil
}

func startItems(ctx context.Context, st outbound.Stores, model *run.Run, turn outbound.LoopTurn) (roused []run.ID, err error) {
	var starts []outbound.ItemStart
	for _, item := range turn.Items {
		if roused = append(roused, item.Run); item.Again {
			continue
		}
		var r *run.Run
		if now := model.UpdatedAt(); model.ID() == turn.Loop.Run {
			r = model.Item(turn.Loop.Node, item.Run, item.Index, now)
		} else {
			r = model.Sibling(item.Run, item.Index, now)
		}
		starts = append(starts, outbound.ItemStart{Run: r, Size: item.Size})
	}
	if len(starts) == 0 {
		return roused, nil
	}
	return roused, st.Runs.Loops.Start(ctx, turn.Payload, starts...)
}
