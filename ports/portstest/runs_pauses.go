package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// asks lets a node of a run wait for a person; an empty assignee is nobody.
func asks(id workflow.NodeID, assignee string, seq int64) func(*run.State) {
	return func(st *run.State) {
		until := noon.Add(time.Hour)
		st.Status = run.StatusPaused
		st.Nodes = append(st.Nodes, run.NodeState{ID: id, Status: run.NodeWaiting, Pause: &run.Pause{
			Kind: run.PauseInput, Since: noon.Add(time.Duration(seq) * time.Second), Until: &until, Seq: seq, Guarded: assignee != "",
			Question: &run.Question{Prompt: "é <\u2028>\n\"?", Assignee: assignee, Single: true, Form: node.Declarations{{Name: "value", Declaration: node.Declaration{Type: node.String}}}},
		}})
	}
}

func fresh(st *run.State) { st.Nodes = nil }

func (f fixture) pausesOf(scope tenant.Scope, filter run.PauseFilter) (found domain.Page[run.OpenPause]) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Runs.Pauses.List(ctx, scope, filter, domain.Query{Sorting: domain.Sorting{Ascending: true}})
		return err
	})
	return found
}

func pauseNodes(found domain.Page[run.OpenPause]) (ids []workflow.NodeID) {
	for _, p := range found.Items {
		ids = append(ids, p.Node)
	}
	return ids
}

// RunsPauses is the contract of outbound.PauseRepository.
func RunsPauses(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a question is listed as it was asked, whatever else nodes gave": func(f fixture) {
			owner := f.tenant().ID()
			r := f.waiting(owner, 1, fresh, asks("ask", "ana", 3), func(st *run.State) {
				st.Nodes = append(st.Nodes, run.NodeState{ID: "gave", Status: run.NodeCompleted, Output: []byte(`"\u0000 \\u0000 é"`)})
			})
			st := r.State()
			f.same([]run.OpenPause{{
				ID: run.NewPauseID(r.ID(), 3), Tenant: owner, SubTenant: st.SubTenant, Run: r.ID(), Workflow: st.Workflow, Node: "ask", Entity: "e",
				Since: st.Nodes[0].Pause.Since, Until: st.Nodes[0].Pause.Until, Question: st.Nodes[0].Pause.Question,
			}}, f.pausesOf(tenant.All(owner), run.PauseFilter{}).Items)
		},
		"what waits is found by its assignee and its entity, the oldest first": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			f.waiting(owner, 1, fresh, asks("b", "ana", 4), asks("a", "ana", 3), asks("c", "", 5))
			f.waiting(owner, 2, awaits("paid", "-"))
			f.waiting(other, 1, fresh, asks("theirs", "ana", 3))
			ana, nobody, e := "ana", "", "none"
			f.same([]workflow.NodeID{"a", "b", "c"}, pauseNodes(f.pausesOf(tenant.All(owner), run.PauseFilter{})))
			f.same([]workflow.NodeID{"a", "b"}, pauseNodes(f.pausesOf(tenant.All(owner), run.PauseFilter{Assignee: &ana})))
			f.same([]workflow.NodeID{"c"}, pauseNodes(f.pausesOf(tenant.All(owner), run.PauseFilter{Assignee: &nobody})))
			f.same(0, f.pausesOf(tenant.All(owner), run.PauseFilter{Entity: &e}).Total)
			f.same(0, f.pausesOf(tenant.All(owner), run.PauseFilter{Workflow: "wf_none"}).Total)
		},
		"it goes with its tenant": func(f fixture) {
			owner := f.tenant().ID()
			f.waiting(owner, 1, fresh, asks("a", "", 3))
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
			f.same(0, f.pausesOf(tenant.All(owner), run.PauseFilter{}).Total)
		},
		"it is listed as long as it waits, whatever else its run waits for": func(f fixture) {
			owner := f.tenant().ID()
			r := f.waiting(owner, 1, fresh, asks("a", "", 3), asks("b", "", 4))
			r = f.step(r, outbound.RunLease{}, func(st *run.State) { st.Nodes[0].Status = run.NodeCompleted })
			f.same([]workflow.NodeID{"b"}, pauseNodes(f.pausesOf(tenant.All(owner), run.PauseFilter{})))
			r = f.step(r, outbound.RunLease{}, fresh, asks("c", "", 9), func(st *run.State) {
				st.Nodes = append(st.Nodes, run.NodeState{ID: "paid", Status: run.NodeWaiting, Pause: &run.Pause{Kind: run.PauseEvent, Event: "paid", Since: noon}})
			})
			f.same([]workflow.NodeID{"c"}, pauseNodes(f.pausesOf(tenant.All(owner), run.PauseFilter{})))
			r = f.step(r, outbound.RunLease{}, awaits("paid"))
			f.same(0, f.pausesOf(tenant.All(owner), run.PauseFilter{}).Total)
			r = f.step(r, outbound.RunLease{}, awaits("paid"), asks("d", "", 12))
			f.step(r, outbound.RunLease{}, fresh, func(st *run.State) { st.Status = run.StatusCompleted })
			f.same(0, f.pausesOf(tenant.All(owner), run.PauseFilter{}).Total)
		},
	})
}
