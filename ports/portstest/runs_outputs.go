package portstest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// largeText is a JSON text that is a little longer than what is kept with the progress.
func largeText(n int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`"%d %s"`, n, strings.Repeat("é", run.InlineOutput)))
}

// gives adds a node that gave a large output in the step that is being made.
func gives(n int) func(*run.State) {
	return func(st *run.State) {
		st.Seq = max(st.Seq, 1)
		st.Nodes = append(st.Nodes, run.NodeState{
			ID: workflow.NodeID(fmt.Sprint("large", n)), Status: run.NodeCompleted, Output: largeText(n), OutputSeq: st.Seq,
		})
	}
}

// LargeOutputs is the contract of outbound.RunRepository about outputs that are longer than
// run.InlineOutput.
func LargeOutputs(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"they come back with the run, whichever step gave them": func(f fixture) {
			owner := f.tenant().ID()
			r := f.started(owner, gives(0))
			f.holds(r.State())
			for n := 1; n < 4; n++ {
				r = f.step(r, outbound.RunLease{}, gives(n), func(st *run.State) {
					st.Nodes = append(st.Nodes, run.NodeState{ID: workflow.NodeID(fmt.Sprint("small", n)), Status: run.NodeCompleted, Output: json.RawMessage(`1`)})
				})
				f.holds(r.State())
			}
			other := f.started(f.tenant().ID(), gives(9))
			f.holds(other.State())
			f.holds(r.State())
		},
		"several runs are recorded together, with new ones and without": func(f fixture) {
			owner := f.tenant().ID()
			a, b := f.started(owner, gives(1)), f.started(owner)
			for _, changes := range [][]func(*run.State){nil, {gives(2)}, nil} {
				steps := []outbound.RunStep{stepped(a, outbound.RunLease{}, changes...), stepped(b, outbound.RunLease{})}
				if err := f.trySteps(steps...); err != nil {
					f.Fatal(err)
				}
				a, b = steps[0].Run, steps[1].Run
				f.holds(a.State())
				f.holds(b.State())
			}
		},
		"a step that is refused writes none": func(f fixture) {
			r := f.started(f.tenant().ID())
			late := stepped(r, outbound.RunLease{}, gives(1))
			r = f.step(r, outbound.RunLease{}, gives(2))
			if err := f.tryStep(late); err == nil {
				f.Error("a step from a stale run was recorded")
			}
			f.holds(r.State())
			f.holds(f.step(r, outbound.RunLease{}, gives(1)).State())
		},
		"who leases a run gets them, and its size has them": func(f fixture) {
			owner := f.tenant().ID()
			r := f.started(owner, gives(1), gives(2), having(largeText(3)))
			want := int64(len(r.Payload())) + storedProgress(r.State().Progress)
			leased := f.claimRuns(1, 1)
			if len(leased) != 1 || leased[0].Size != want {
				f.Fatalf("leased are %+v; the size is %d", leased, want)
			}
			f.same(r.State(), leased[0].Run.State())
			err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				outline, err := st.Runs.Origins.Of(ctx, tenant.All(owner), r.ID())
				if outline.Size != want {
					f.Errorf("the size is %d, not %d", outline.Size, want)
				}
				return err
			})
			if err != nil {
				f.Error(err)
			}
		},
		"a large run is leased without being read": func(f fixture) {
			owner := f.tenant().ID()
			r := f.started(owner, gives(1), having(sharedText(outbound.LargeRunBytes)))
			small := f.started(owner)
			want := int64(len(r.Payload())) + storedProgress(r.State().Progress)
			for _, l := range f.claimRuns(9, 9) {
				switch {
				case l.Lease.Run == small.ID():
					f.same(small.State(), l.Run.State())
				case l.Lease.Run != r.ID() || l.Run != nil || l.Unreadable != nil || l.Size != want || l.Lease.Number <= 0:
					f.Errorf("%+v was leased; the size is %d", l, want)
				}
			}
			f.holds(r.State())
		},
		"they go with the run": func(f fixture) {
			owner := f.tenant().ID()
			r := f.started(owner, gives(1), having(largeText(2)))
			kept := int64(len(r.Payload())) + storedProgress(r.State().Progress)
			f.same(kept, f.kept(owner))
			r = f.step(r, outbound.RunLease{}, hasEnded)
			for f.sweep(owner, 1) > 0 {
			}
			f.same(int64(0), f.kept(owner))
			f.start(pending(owner, func(st *run.State) { st.ID = r.ID() }, gives(1))) // nothing is in its way
		},
	})
}
