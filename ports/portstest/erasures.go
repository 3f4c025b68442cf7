package portstest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// anna is who is erased, an hour after everything came up.
const anna = "anna@example.com"

// erasure stores one, in a part.
func (f fixture) erasure(owner tenant.ID, part job.Part, d job.ErasureDraft) *job.Job {
	f.Helper()
	if d.Entity == nil && d.SubTenant == nil && d.Filter == nil {
		entity := anna
		d.Entity = &entity
	}
	j, err := job.NewErasure(job.ID(newID("job")), tenant.All(owner), d, noon.Add(time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	st := j.State()
	st.Erasure.Part = part
	j = job.Restore(st)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Jobs.Insert(ctx, j) })
	return j
}

// erasePart goes through the part that an erasure is in.
func (f fixture) erasePart(j *job.Job) (removed job.Removed) {
	f.Helper()
	for more := true; more; more = j.Erasure().After != "" {
		f.write(func(ctx context.Context, st outbound.Stores) error {
			next, n, err := st.Erasures.RemovePart(ctx, j)
			j.Erased(n, next, noon)
			return err
		})
	}
	return j.Erasure().Removed
}

func ended(s *run.State) {
	at := noon.Add(time.Minute)
	s.Status, s.FinishedAt = run.StatusCompleted, &at
}

func (f fixture) ofAnna(owner tenant.ID, change ...func(*run.State)) *run.Run {
	f.Helper()
	return f.started(owner, append([]func(*run.State){ended, func(s *run.State) { s.Entity = anna }}, change...)...)
}

func startedBy(parent *run.Run) func(*run.State) {
	return func(s *run.State) { s.Parent, s.ParentNode, s.Depth = parent.ID(), "call", 1 }
}

func (f fixture) taken(j *job.Job, limit int) (taken int, removed job.Removed) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		taken, removed, err = st.Erasures.Take(ctx, j, limit)
		return err
	})
	return taken, removed
}

func (f fixture) removeOf(j *job.Job, runs ...*run.Run) (removed job.Removed) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		removed, err = st.Erasures.RemoveRuns(ctx, j.Tenant(), j.ID(), runIDs(runs...)...)
		return err
	})
	return removed
}

// left says which of the runs are there.
func (f fixture) left(owner tenant.ID, runs ...*run.Run) (there []bool) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		statuses, err := st.Runs.Families.Statuses(ctx, tenant.All(owner), runIDs(runs...))
		for _, status := range statuses {
			there = append(there, status != "")
		}
		return err
	})
	return there
}

// eventOf stores an event about a run, when the run was created.
func (f fixture) eventOf(owner tenant.ID, sub tenant.SubTenantID, of run.ID, entity string) event.ID {
	f.Helper()
	e := event.Restore(event.State{
		ID: event.ID(newID("evt")), Tenant: owner, SubTenant: sub, Type: event.RunCompleted, At: noon, Data: domain.RestoreDocument(`{"runId":"` + string(of) + `","entityId":"` + entity + `"}`),
	})
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Events.Append(ctx, e) })
	return e.ID()
}

func (f fixture) hasEvent(owner tenant.ID, id event.ID) bool {
	f.Helper()
	var err error
	f.read(func(ctx context.Context, st outbound.Stores) error {
		_, err = st.Webhooks.Events.Get(ctx, tenant.All(owner), id)
		return nil
	})
	return err == nil
}

// answered keeps an answer that says something.
func (f fixture) answered(owner tenant.ID, text string, at time.Time) domain.IdempotencyKey {
	f.Helper()
	key := domain.IdempotencyKey{Scope: "POST /x", Key: newID("key"), Fingerprint: "f", Answer: func(any) ([]byte, error) { return []byte(text), nil }}
	f.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Record(ctx, owner, key, nil, at)
	})
	return key
}

// remembers says whether an answer is kept.
func (f fixture) remembers(owner tenant.ID, key domain.IdempotencyKey) bool {
	f.Helper()
	return f.try(func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Claim(ctx, owner, key, noon.Add(2*time.Minute))
	}) != nil
}

// received is a delivery to a hook that names runs.
func received(h *hook.Hook, body string, seconds int, runs ...run.ID) *hook.Received {
	d := hookDelivery(h, seconds, hook.Accepted)
	d.Runs, d.Request.Body = runs, []byte(body)
	return d
}

// ErasureRepository is the contract of outbound.ErasureRepository.
func ErasureRepository(t *testing.T, open OpenStore) {
	t.Run("Runs", func(t *testing.T) { erasedRuns(t, open) })
	t.Run("Parts", func(t *testing.T) { erasedParts(t, open) })
	t.Run("Deletion", func(t *testing.T) { runDeletion(t, open) })
}

func erasedRuns(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"an erasure takes runs of its entity that came up before it, some at a time, and nobody else's": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			for range 3 {
				f.ofAnna(owner)
			}
			f.started(owner, ended)
			f.ofAnna(owner, func(s *run.State) { s.CreatedAt = noon.Add(2 * time.Hour) })
			f.ofAnna(other)
			j := f.erasure(owner, job.Runs, job.ErasureDraft{})
			for i, want := range []int{2, 1, 0} {
				taken, removed := f.taken(j, 2)
				if taken != want || removed.Runs != 0 {
					f.Errorf("at %d, %d were taken and %d removed", i, taken, removed.Runs)
				}
				for _, one := range f.jobRuns(j, 9) {
					f.removeOf(j, run.Restore(run.State{Origin: run.Origin{ID: one.ID}}))
				}
			}
		},
		"of the runs above, those that have ended go at once with their events, and live ones are taken": func(f fixture) {
			owner := f.tenant().ID()
			top := f.started(owner)
			middle := f.started(owner, ended, startedBy(top))
			sibling := f.started(owner, ended, startedBy(middle))
			mine := f.ofAnna(owner, startedBy(middle))
			about := f.eventOf(owner, "", middle.ID(), "else")
			j := f.erasure(owner, job.Runs, job.ErasureDraft{})
			taken, removed := f.taken(j, 9)
			if taken != 2 || removed.Runs != 1 || removed.Events != 1 || f.hasEvent(owner, about) {
				f.Errorf("%d were taken, and removed %+v", taken, removed)
			}
			if diff := cmp.Diff([]bool{true, false, true, true}, f.left(owner, top, middle, sibling, mine)); diff != "" {
				f.Error(diff)
			}
		},
		"it takes what its runs started, each once and some at a time": func(f fixture) {
			owner := f.tenant().ID()
			mine := f.ofAnna(owner)
			for range 3 {
				f.started(owner, startedBy(mine))
			}
			j := f.erasure(owner, job.Runs, job.ErasureDraft{})
			f.taken(j, 9)
			for i, want := range []int{2, 1, 0} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Erasures.TakeChildren(ctx, j, []run.ID{mine.ID()}, 2)
					if n != want {
						f.Errorf("at %d, %d were taken", i, n)
					}
					return err
				})
			}
		},
		"its runs go whether or not they have ended, with the events about them, and are not its any more": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			mine, live, theirs := f.ofAnna(owner), f.ofAnna(owner, func(s *run.State) { s.Status, s.FinishedAt = run.StatusPending, nil }), f.ofAnna(other)
			about, others, foreign := f.eventOf(owner, "", mine.ID(), anna), f.eventOf(owner, "", "run_else", "else"), f.eventOf(other, "", mine.ID(), anna)
			j := f.erasure(owner, job.Runs, job.ErasureDraft{})
			f.taken(j, 9)
			removed := f.removeOf(j, mine, live, theirs)
			if removed.Runs != 2 || removed.Events != 1 || f.hasEvent(owner, about) || !f.hasEvent(owner, others) || !f.hasEvent(other, foreign) {
				f.Errorf("removed %+v", removed)
			}
			if left := f.jobRuns(j, 9); len(left) != 0 || !f.left(other, theirs)[0] {
				f.Error("left are", left)
			}
		},
	})
}

func erasedParts(t *testing.T, open OpenStore) {
	erasedTraces(t, open)
	erasedKeys(t, open)
}

func erasedTraces(t *testing.T, open OpenStore) {
	gone, erased := run.ID(newID("run")), run.ID(newID("run"))
	cases(t, open, map[string]func(f fixture){
		"deliveries to hooks go that name somebody, or a run that was erased": func(f fixture) {
			h := f.hooked()
			f.addDeliveries(received(h, `{"a":["`+anna+`"]}`, 1), received(h, `who=anna%40example.com`, 2), received(h, `{}`, 3, erased, "run_x"))
			kept := []*hook.Received{received(h, `{"a":"susanna@example.com"}`, 4), received(h, `{}`, 5, gone), received(h, anna, 7200)}
			for range 20 { // more than are looked at in one unit
				kept = append(kept, received(h, `{}`, 6))
			}
			f.addDeliveries(kept...)
			theirs := f.hooked()
			f.addDeliveries(received(theirs, anna, 1))
			j := f.erasure(h.Tenant(), job.HookDeliveries, job.ErasureDraft{})
			f.removeOf(j, run.Restore(run.State{Origin: run.Origin{ID: erased}}))
			if removed := f.erasePart(j); removed.HookDeliveries != 3 {
				f.Errorf("removed %+v", removed)
			}
			if _, n := f.hookDeliveries(h, hook.ReceivedFilter{}); n != len(kept) {
				f.Errorf("%d are left", n)
			}
			if _, n := f.hookDeliveries(theirs, hook.ReceivedFilter{}); n != 1 {
				f.Error("another tenant's is gone")
			}
		},
		"what names runs of a filter goes, whatever times they are of, and many deliveries in one unit": func(f fixture) {
			h := f.hooked()
			early := noon.Add(-time.Hour)
			var late []*hook.Received
			for i := range 20 {
				late = append(late, received(h, `{}`, i, erased))
			}
			f.addDeliveries(append(late, received(h, `{}`, 5, gone), received(h, `{}`, 7200, erased))...)
			answer, other := f.answered(h.Tenant(), `{"id":"`+string(erased)+`"}`, noon), f.answered(h.Tenant(), `{"id":"`+string(gone)+`"}`, noon)
			for i, c := range []struct {
				part job.Part
				d    job.ErasureDraft
				want job.Removed
			}{
				{job.HookDeliveries, job.ErasureDraft{Filter: &run.Filter{}, Before: &early}, job.Removed{}},
				{job.HookDeliveries, job.ErasureDraft{Filter: &run.Filter{To: &early}}, job.Removed{HookDeliveries: len(late)}},
				{job.Answers, job.ErasureDraft{Filter: &run.Filter{To: &early}}, job.Removed{Answers: 1}},
			} {
				j := f.erasure(h.Tenant(), c.part, c.d)
				f.removeOf(j, run.Restore(run.State{Origin: run.Origin{ID: erased}}))
				f.write(func(ctx context.Context, st outbound.Stores) error {
					_, removed, err := st.Erasures.RemovePart(ctx, j)
					if diff := cmp.Diff(c.want, removed); diff != "" {
						f.Error(i, diff)
					}
					return err
				})
				f.endJob(j)
			}
			if f.remembers(h.Tenant(), answer) || !f.remembers(h.Tenant(), other) {
				f.Error("the wrong answer is gone")
			}
		},
		"events go that are about somebody, up to a time": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			sub := tenant.SubTenantID("team")
			for name, d := range map[string]job.ErasureDraft{anna: {}, "team": {SubTenant: &sub}} {
				about, others, theirs := f.eventOf(owner, sub, "run_1", anna), f.eventOf(owner, "else", "run_2", "else"), f.eventOf(other, sub, "run_1", anna)
				early := d
				early.Before = &noon
				j := f.erasure(owner, job.Events, early)
				if removed := f.erasePart(j); removed.Events != 0 {
					f.Errorf("of %s what is younger: %+v", name, removed)
				}
				f.endJob(j)
				j = f.erasure(owner, job.Events, d)
				if removed := f.erasePart(j); removed.Events != 1 || f.hasEvent(owner, about) || !f.hasEvent(owner, others) || !f.hasEvent(other, theirs) {
					f.Errorf("of %s: %+v", name, removed)
				}
				f.endJob(j)
			}
		},
		"answers go that name somebody, or a run that was erased": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			all := []domain.IdempotencyKey{
				f.answered(owner, `{"id":"`+string(erased)+`"}`, noon), f.answered(owner, `{"entityId":"`+anna+`"}`, noon), f.answered(owner, `{"url":"/h/x","entityId":"`+anna+`"}`, noon), // which is encrypted
				f.answered(owner, `{"id":"`+string(gone)+`"}`, noon), f.answered(owner, `{"entityId":"else"}`, noon),
			}
			theirs := f.answered(other, `{"entityId":"`+anna+`"}`, noon)
			j := f.erasure(owner, job.Answers, job.ErasureDraft{})
			f.removeOf(j, run.Restore(run.State{Origin: run.Origin{ID: erased}}))
			if removed := f.erasePart(j); removed.Answers != 3 {
				f.Errorf("removed %+v", removed)
			}
			for i, key := range all {
				if f.remembers(owner, key) != (i >= 3) {
					f.Errorf("answer %d", i)
				}
			}
			if !f.remembers(other, theirs) {
				f.Error("another tenant's is gone")
			}
		},
	})
}

func erasedKeys(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"keys are revoked when an erasure is accepted, and removed later": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			for name, c := range map[string]struct{ d job.ErasureDraft }{"team": {job.ErasureDraft{SubTenant: new(tenant.SubTenantID)}}, anna: {}} {
				if c.d.SubTenant != nil {
					*c.d.SubTenant = "team"
				}
				mine, others := f.limited(owner, tenant.Embed, "team", anna), f.limited(owner, tenant.Secret, "else", "else")
				theirs := f.limited(other, tenant.Embed, "team", anna)
				whole := f.key(owner, tenant.Secret, nil)
				j := f.erasure(owner, job.Keys, c.d)
				revoked := noon.Add(time.Hour - time.Millisecond)
				f.write(func(ctx context.Context, st outbound.Stores) error {
					return errors.Join(st.Erasures.RevokeKeys(ctx, j, noon.Add(time.Hour)), st.Erasures.RevokeKeys(ctx, j, revoked)) // at first all have expired
				})
				for key, want := range map[*tenant.APIKey]*time.Time{mine: &revoked, others: nil, theirs: nil, whole: nil} {
					if got, err := f.getKey(key.Tenant(), key.ID()); err != nil || cmp.Diff(want, got.RevokedAt()) != "" {
						f.Errorf("of %s, %s: %v", name, key.ID(), err)
					}
				}
				if removed := f.erasePart(j); removed.Keys != 1 {
					f.Errorf("of %s were removed %+v", name, removed)
				}
				_, err := f.getKey(owner, mine.ID())
				f.wantError(err, domain.NotFound, "api_key_not_found")
				f.endJob(j)
			}
		},
		"keys are removed some at a time": func(f fixture) {
			owner := f.tenant().ID()
			const many = 210
			f.write(func(ctx context.Context, st outbound.Stores) (err error) {
				ends, team := noon.Add(time.Hour), tenant.SubTenantID("team")
				for range many {
					k := f.newKey(owner, tenant.Secret, &ends).State()
					k.Type, k.Narrowing = tenant.Embed, tenant.Narrowing{SubTenant: &team, Subject: anna}
					err = errors.Join(err, st.APIKeys.Insert(ctx, tenant.RestoreAPIKey(k)))
				}
				return err
			})
			j := f.erasure(owner, job.Keys, job.ErasureDraft{})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				next, n, err := st.Erasures.RemovePart(ctx, j)
				if n.Keys == 0 || n.Keys >= many || next == "" {
					f.Errorf("removed %+v up to %q", n, next)
				}
				j.Erased(n, next, noon)
				return err
			})
			if removed := f.erasePart(j); removed.Keys != many {
				f.Errorf("removed %+v", removed)
			}
		},
	})
}

// endJob lets another one begin.
func (f fixture) endJob(j *job.Job) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		stored, err := st.Runs.Jobs.Get(ctx, tenant.All(j.Tenant()), j.ID())
		if err != nil {
			return err
		}
		return errors.Join(stored.Cancel(noon), st.Runs.Jobs.Update(ctx, stored))
	})
}

func runDeletion(t *testing.T, open OpenStore) {
	deletedRuns(t, open)
	tracesOfRuns(t, open)
}

func deletedRuns(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a run, those below it and the one above say which has not ended": func(f fixture) {
			owner := f.tenant().ID()
			top := f.started(owner, ended)
			middle := f.started(owner, ended, startedBy(top))
			low := f.started(owner, startedBy(middle))
			lone := f.started(owner, ended)
			f.read(func(ctx context.Context, st outbound.Stores) (err error) {
				for of, want := range map[*run.Run]run.ID{top: low.ID(), middle: low.ID(), low: low.ID(), lone: ""} {
					got, failed := st.Erasures.Unfinished(ctx, owner, of.ID())
					if err = errors.Join(err, failed); got != want {
						f.Errorf("of %s it is %q, not %q", of.ID(), got, want)
					}
				}
				children, failed := st.Erasures.Children(ctx, tenant.All(owner), top.ID(), 9)
				if diff := cmp.Diff([]run.ID{middle.ID()}, children); diff != "" {
					f.Error(diff)
				}
				return errors.Join(err, failed)
			})
		},
		"only what has ended is deleted, and whose parent has": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			live, free := f.started(owner), f.started(owner, ended)
			below, theirs := f.started(owner, ended, startedBy(live)), f.started(other, ended)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				removed, err := st.Erasures.DeleteRuns(ctx, owner, outbound.RunTraces{}, live.ID(), free.ID(), below.ID(), theirs.ID())
				if removed.Runs != 1 {
					f.Errorf("removed %+v", removed)
				}
				return err
			})
			if diff := cmp.Diff([]bool{true, false, true}, f.left(owner, live, free, below)); diff != "" || !f.left(other, theirs)[0] {
				f.Error(diff)
			}
		},
	})
}

func tracesOfRuns(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"what names a run is found, however much else there is, and goes with it": func(f fixture) {
			h := f.hooked()
			owner := h.Tenant()
			one := f.started(owner, ended)
			about, others := f.eventOf(owner, "", one.ID(), "else"), f.eventOf(owner, "", "run_else", "else")
			answer, other := f.answered(owner, `{"id":"`+string(one.ID())+`"}`, noon.Add(30*time.Second)), f.answered(owner, `{}`, noon)
			late := received(h, `{}`, 600, one.ID()) // a sender has repeated it
			early := received(h, `{}`, 0, "run_else", one.ID())
			f.addDeliveries(early, late)
			for range 3 {
				var many []*hook.Received
				for range 500 { // more than are looked at in one unit
					many = append(many, received(h, `{}`, 1))
				}
				f.addDeliveries(many...)
			}
			var times []int64
			f.read(func(ctx context.Context, st outbound.Stores) (err error) {
				times, err = st.Erasures.Times(ctx, owner, []run.ID{one.ID()})
				return err
			})
			if !slices.Contains(times, noon.UnixMilli()) {
				f.Fatal(times)
			}
			var traces outbound.RunTraces
			units := 0
			for place, more := (outbound.TracePlace{}), true; more; more = place != (outbound.TracePlace{}) {
				units++
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, next, err := st.Erasures.Traces(ctx, owner, []run.ID{one.ID()}, times, place)
					traces.Add(found)
					place = next
					return err
				})
			}
			answer.Fingerprint, answer.Answer = "", nil
			want := outbound.RunTraces{
				Events: []event.ID{about}, Deliveries: []outbound.HookDelivery{{Trigger: h.Trigger(), ID: early.ID}, {Trigger: h.Trigger(), ID: late.ID}}, Answers: []domain.IdempotencyKey{answer},
			}
			if diff := cmp.Diff(want, traces); diff != "" || units < 4 {
				f.Error(units, diff)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				removed, err := st.Erasures.DeleteRuns(ctx, owner, traces, one.ID())
				if diff := cmp.Diff(job.Removed{Runs: 1, Events: 1, HookDeliveries: 2, Answers: 1}, removed); diff != "" {
					f.Error(diff)
				}
				return err
			})
			if _, n := f.hookDeliveries(h, hook.ReceivedFilter{}); n != 1500 || f.hasEvent(owner, about) || !f.hasEvent(owner, others) || !f.remembers(owner, other) {
				f.Errorf("%d deliveries are left", n)
			}
		},
		"answers of a day are found in few units, however many were given at once": func(f fixture) {
			owner := f.tenant().ID()
			id := run.ID(newID("run"))
			var times []int64
			for minute := range 24 * 60 {
				times = append(times, noon.Add(time.Duration(minute)*time.Minute).UnixMilli())
			}
			f.write(func(ctx context.Context, st outbound.Stores) (err error) {
				for range 1010 {
					key := domain.IdempotencyKey{Scope: "POST /x", Key: newID("key"), Fingerprint: "f", Answer: func(any) ([]byte, error) { return []byte(`{}`), nil }}
					err = errors.Join(err, st.Idempotency.Record(ctx, owner, key, nil, noon))
				}
				return err
			})
			var want, got []domain.IdempotencyKey
			for _, at := range []time.Duration{0, time.Minute, 24 * time.Hour} {
				key := f.answered(owner, `{"id":"`+string(id)+`"}`, noon.Add(at))
				want = append(want, domain.IdempotencyKey{Scope: key.Scope, Key: key.Key})
			}
			f.answered(owner, `{"id":"`+string(id)+`"}`, noon.Add(25*time.Hour))
			units := 0
			for place, more := (outbound.TracePlace{Part: job.Answers}), true; more; more = place != (outbound.TracePlace{}) {
				units++
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, next, err := st.Erasures.Traces(ctx, owner, []run.ID{id}, times, place)
					got, place = append(got, found.Answers...), next
					return err
				})
			}
			if diff := cmp.Diff(want, got); diff != "" || units > 10 {
				f.Errorf("in %d units: %s", units, diff)
			}
		},
	})
}
