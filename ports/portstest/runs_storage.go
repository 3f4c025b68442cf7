package portstest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// KeptBytes is the contract of what outbound.FiringRepository says is kept for a tenant.
func KeptBytes(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"payloads and what was recorded count, of this tenant only, whoever asks": func(f fixture) {
			ver := f.published(f.tenant().ID(), "")
			owner, event := ver.Tenant(), newID("event")
			trg := f.listening(ver, event)
			f.started(f.tenant().ID(), having(sharedText(777)))
			text := sharedText(500)
			r := f.started(owner, having(text))
			f.shared("pay_1", pending(owner, having(text)), pending(owner, having(text)))
			empty := storedProgress(run.Progress{})
			want := 2*int64(len(text)) + 3*empty
			f.same(map[tenant.ID]int64{owner: want}, f.keptOf(trg))
			s := stepped(r, outbound.RunLease{}, func(st *run.State) { st.Progress = runState(owner).Progress })
			s.History = nil
			if err := f.tryStep(s); err != nil {
				f.Fatal(err)
			}
			want += storedProgress(s.Run.State().Progress) - empty
			f.same(map[tenant.ID]int64{owner: want}, f.keptOf(trg))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Firing.OnEvent(ctx, tenant.All(owner), outbound.EventQuery{Event: event, Limit: 9})
				if err == nil && (len(found) != 1 || found[0].StoredBytes != want) {
					f.Errorf("%+v", found)
				}
				return err
			})
			f.step(s.Run, outbound.RunLease{})
			if got := f.keptOf(trg)[owner]; got < want+20 {
				f.Errorf("a history does not count: %d after %d", got, want)
			}
		},
		"triggers of many tenants have each what their own keeps": func(f fixture) {
			var keys []outbound.TriggerKey
			var want []int64
			for n := range 4 {
				trg := f.listening(f.published(f.tenant().ID(), ""), "paid")
				kept := int64(0)
				if n > 0 {
					r := f.started(trg.Tenant(), having(sharedText(100*n)))
					kept = int64(len(r.Payload())) + storedProgress(run.Progress{})
				}
				keys, want = append(keys, outbound.KeyOf(trg), outbound.KeyOf(trg)), append(want, kept, kept)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				each, err := st.Firing.Triggers(ctx, keys)
				var got []int64
				for _, one := range each {
					got = append(got, one.StoredBytes)
				}
				f.same(want, got)
				return err
			})
		},
		"whatever happens, it is the sum of what is there, and nothing in the end": func(f fixture) {
			rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a sequence to repeat
			owner, other := f.tenant().ID(), f.tenant().ID()
			alive, sharing := make(map[run.ID]*run.Run), make(map[run.ID]outbound.PayloadID)
			for n := range 60 {
				text := sharedText(rnd.IntN(3000))
				runs := []*run.Run{pending(owner, having(text)), pending(owner, having(text), hasEnded)}
				switch rnd.IntN(4) {
				case 0:
					f.start(append(runs, pending(other))...)
				case 1:
					id := outbound.PayloadID(fmt.Sprint("pay_", n))
					f.shared(id, runs...)
					sharing[runs[0].ID()], sharing[runs[1].ID()] = id, id
				case 2:
					runs = f.stepAll(rnd, alive)
				default:
					runs = nil
					f.sweep(owner, 1+rnd.IntN(3))
					maps.DeleteFunc(alive, func(id run.ID, _ *run.Run) bool { return errorOf(f.getRun(owner, id)) != nil })
				}
				for _, r := range runs {
					alive[r.ID()] = r
				}
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, other) })
			want, counted := int64(0), make(map[outbound.PayloadID]bool)
			for id, r := range alive {
				want += storedProgress(r.State().Progress)
				if of := sharing[id]; of == "" || !counted[of] {
					want += int64(len(r.Payload()))
					counted[of] = true
				}
			}
			if got := f.kept(owner); got != want || len(alive) == 0 || len(counted) < 2 {
				f.Errorf("%d bytes are kept, not %d, of %d runs", got, want, len(alive))
			}
			for _, r := range alive {
				s := stepped(r, outbound.RunLease{}, hasEnded)
				if err := f.tryStep(s); err != nil {
					f.Fatal(err)
				}
			}
			for f.sweep(owner, 7) > 0 {
			}
			if got := f.kept(owner); got != 0 {
				f.Errorf("%d bytes are kept of nothing", got)
			}
		},
	})
}

// storedProgress is how many bytes a store keeps of it.
func storedProgress(p run.Progress) int64 {
	return int64(len(run.EncodeProgress(p)) + p.LargeOutputsSize())
}

// stepAll records steps of some runs, alone or together, which write progress of all sizes.
func (f fixture) stepAll(rnd *rand.Rand, alive map[run.ID]*run.Run) (moved []*run.Run) {
	f.Helper()
	var steps []outbound.RunStep
	for _, r := range alive {
		if rnd.IntN(3) > 0 {
			continue
		}
		s := stepped(r, outbound.RunLease{}, func(st *run.State) {
			node := run.NodeState{ID: workflow.NodeID(fmt.Sprint("n", len(st.Nodes))), Status: run.NodeCompleted, Output: sharedText(rnd.IntN(2 * run.InlineOutput))}
			if len(node.Output) > run.InlineOutput {
				node.OutputSeq = r.Seq() + 1
			}
			st.Nodes = append(st.Nodes, node)
		})
		s.History = nil
		steps, moved = append(steps, s), append(moved, s.Run)
	}
	if err := f.trySteps(steps...); err != nil {
		f.Fatal(err)
	}
	return moved
}
