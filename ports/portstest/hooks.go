package portstest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// hookState is a hook of a trigger with every member filled in.
func hookState(trg *trigger.Trigger) hook.State {
	var r domain.Rules
	text := func(s string) *string { return &s }
	retired := hashOf(newID("old"))
	return hook.State{
		Tenant: trg.Tenant(), SubTenant: trg.SubTenant(), Trigger: trg.ID(), Active: true, Token: hashOf(newID("new")), Hint: "htk_…abcd", Retired: &retired, RetiredUntil: noon.Add(time.Hour),
		CreatedAt: noon, UpdatedAt: noon, Revision: 1,
		Config: hook.Config{
			Scheme: hook.ParseScheme(&r, "", []byte(`{"preset":"github"}`)), Secrets: []connection.ID{"conn_1", "conn_2"}, Event: text("payload.e"), Entity: text(""), Dedupe: text("payload.d"),
			Filter: text("payload.f"), Split: text("payload.s"), Ingest: true, RawBody: true, Respond: hook.ParseRespond(&r, "", []byte(`{"mode":"fixed","status":201}`)),
			AllowFrom: hook.ParseRanges(&r, "", []string{"192.0.2.0/24"}), Limits: hook.Limits{PerMinute: 7, Concurrent: 3},
		},
	}
}

func hashOf(text string) hook.TokenHash {
	var bits [hook.TokenEntropy]byte
	copy(bits[:], text[max(0, len(text)-hook.TokenEntropy):])
	return hook.NewToken(bits).Hash()
}

// shownHook is what of a hook can be compared.
func shownHook(h *hook.Hook) string {
	st := h.State()
	retired := ""
	if st.Retired != nil {
		retired = fmt.Sprintf("%x until %s", *st.Retired, st.RetiredUntil)
	}
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return *s
	}
	c := st.Config
	return fmt.Sprint(st.Tenant, st.SubTenant, st.Trigger, st.Active, fmt.Sprintf("%x", st.Token), st.Hint, retired, st.CreatedAt, st.UpdatedAt, st.Revision, c.Scheme.Document(), c.Secrets,
		text(c.Event), text(c.Entity), text(c.Dedupe), text(c.Filter), text(c.Split), c.Ingest, c.RawBody, c.Respond.Document(), c.AllowFrom.Texts(), c.Limits)
}

// hooked stores a trigger with a hook.
func (f fixture) hooked() *hook.Hook {
	f.Helper()
	h := hook.Restore(hookState(f.scheduled()))
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Hooks.Insert(ctx, h) })
	return h
}

func (f fixture) hook(h *hook.Hook) (found *hook.Hook) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Hooks.Hooks.Get(ctx, tenant.All(h.Tenant()), h.Trigger())
		return err
	})
	return found
}

// delivery is one of a hook with every member filled in, seconds after noon.
func hookDelivery(h *hook.Hook, seconds int, verdict hook.Verdict) *hook.Received {
	return &hook.Received{
		ID: hook.DeliveryID(newID("hdl")), Tenant: h.Tenant(), Trigger: h.Trigger(), At: noon.Add(time.Duration(seconds) * time.Second), Verdict: verdict, Code: "why",
		Runs: []run.ID{"run_1", "run_2"}, Items: 2, ReplayOf: "hdl_0", Client: "192.0.2.1",
		Request: hook.Request{
			Method: "POST", Origin: "https://hooks.example.com", Address: "/h/x?a=1", Path: "/rest", Query: "a=1", Headers: hook.Headers{"x-a": {"1", "2"}}, Body: []byte("a\nb\x00\xff"), At: noon,
		},
	}
}

func (f fixture) addDeliveries(all ...*hook.Received) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Deliveries.Add(ctx, all...) })
}

// hookDeliveries lists the ids of all deliveries of a hook, the oldest first.
func (f fixture) hookDeliveries(h *hook.Hook, filter hook.ReceivedFilter) (ids []hook.DeliveryID, total int) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Hooks.Deliveries.List(ctx, tenant.All(h.Tenant()), h.Trigger(), filter, f.query("receivedAt", 100, 0))
		for _, d := range found.Items {
			if ids = append(ids, d.ID); d.Request.Method != "" {
				f.Error("a list shows what was received")
			}
		}
		total = found.Total
		return err
	})
	return ids, total
}

func (f fixture) take(now time.Time, keys ...outbound.HookKey) (holders []run.ID) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		holders, err = st.Hooks.Keys.Take(ctx, keys, now)
		return err
	})
	return holders
}

// HookStores is the contract of outbound.HookStores.
func HookStores(t *testing.T, open OpenStore) {
	t.Run("Hooks", func(t *testing.T) { hookRepository(t, open) })
	t.Run("Deliveries", func(t *testing.T) { hookDeliveries(t, open) })
	t.Run("Keys", func(t *testing.T) { hookKeys(t, open) })
}

func hookRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, and is found by both addresses": func(f fixture) {
			h := f.hooked()
			want := shownHook(h)
			f.Log(want)
			st := h.State()
			for _, hash := range []hook.TokenHash{st.Token, *st.Retired} {
				f.read(func(ctx context.Context, stores outbound.Stores) error {
					found, err := stores.Hooks.Hooks.Find(ctx, hash)
					if err == nil && shownHook(found) != want {
						f.Errorf("found %s", shownHook(found))
					}
					return err
				})
			}
			if got := shownHook(f.hook(h)); got != want {
				f.Errorf("got %s", got)
			}
		},
		"a trigger has one hook, and a stale one is not written": func(f fixture) {
			h := f.hooked()
			second := h.State()
			second.Token, second.Retired = hashOf(newID("second")), nil
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Hooks.Hooks.Insert(ctx, hook.Restore(second))
			})
			f.wantError(err, domain.Conflict, "hook_exists")
			stale, changed := f.hook(h), h.State()
			changed.Secrets, changed.Active, changed.Retired, changed.Event, changed.UpdatedAt = []connection.ID{"conn_2"}, false, nil, nil, noon.Add(time.Minute)
			next := hook.Restore(changed)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Hooks.Update(ctx, next) })
			if got := shownHook(f.hook(h)); got != shownHook(next) {
				f.Errorf("got %s, not %s", got, shownHook(next))
			}
			err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Hooks.Update(ctx, stale) })
			f.wantError(err, domain.Conflict, "stale_revision")
			f.read(func(ctx context.Context, st outbound.Stores) error {
				for id, want := range map[connection.ID]int{"conn_1": 0, "conn_2": 1} {
					users, err := st.Connections.UsedBy(ctx, tenant.All(h.Tenant()), id, 9)
					if err != nil {
						return err
					}
					if len(users) != want || want == 1 && users[0] != (connection.Use{Kind: connection.UsedByHook, ID: string(h.Trigger())}) {
						f.Errorf("%s is used by %v", id, users)
					}
				}
				return nil
			})
		},
		"it goes with its trigger, with all that it has": func(f fixture) {
			h, other := f.hooked(), f.hooked()
			f.addDeliveries(hookDelivery(h, 0, hook.Accepted), hookDelivery(other, 0, hook.Accepted))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Triggers.Delete(ctx, tenant.All(h.Tenant()), h.Trigger())
			})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Hooks.Hooks.Delete(ctx, tenant.All(other.Tenant()), other.Trigger())
			})
			for _, gone := range []*hook.Hook{h, other} {
				_, err := f.findHook(gone)
				f.wantError(err, domain.NotFound, "hook_not_found")
				if ids, total := f.hookDeliveries(gone, hook.ReceivedFilter{}); len(ids)+total > 0 {
					f.Errorf("%d deliveries are left", total)
				}
				err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					return st.Hooks.Deliveries.Add(ctx, hookDelivery(gone, 1, hook.Accepted))
				})
				f.wantError(err, domain.NotFound, "hook_not_found")
			}
		},
		"another tenant, and another sub-tenant, see nothing": func(f fixture) {
			h := f.hooked()
			f.addDeliveries(hookDelivery(h, 0, hook.Accepted))
			for _, scope := range []tenant.Scope{tenant.All(f.tenant().ID()), tenant.Only(h.Tenant(), "somebody else"), tenant.All(h.Tenant()).OfWorkflows([]string{"wf_other"})} {
				for claim, ask := range map[string]func(context.Context, outbound.Stores) error{
					"hook": func(ctx context.Context, st outbound.Stores) error {
						_, err := st.Hooks.Hooks.Get(ctx, scope, h.Trigger())
						return err
					},
					"delete": func(ctx context.Context, st outbound.Stores) error {
						return st.Hooks.Hooks.Delete(ctx, scope, h.Trigger())
					},
				} {
					if err := f.work.Do(f.Context(), ask); domain.KindOf(err) != domain.NotFound {
						f.Errorf("%s: %v", claim, err)
					}
				}
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Hooks.Deliveries.List(ctx, scope, h.Trigger(), hook.ReceivedFilter{}, f.query("receivedAt", 10, 0))
					users, errUsers := st.Connections.UsedBy(ctx, scope, "conn_1", 9)
					if err != nil || errUsers != nil || found.Total+len(found.Items)+len(users) > 0 {
						f.Errorf("%d deliveries, %v: %v %v", found.Total, users, err, errUsers)
					}
					return nil
				})
			}
		},
	})
}

func (f fixture) findHook(h *hook.Hook) (found *hook.Hook, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Hooks.Hooks.Find(ctx, h.State().Token)
		return err
	})
	return found, err
}

func hookDeliveries(t *testing.T, open OpenStore) {
	keptHookDeliveries(t, open)
	listedHookDeliveries(t, open)
}

func keptHookDeliveries(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, and what is started is added": func(f fixture) {
			h := f.hooked()
			d := hookDelivery(h, 0, hook.Accepted)
			f.addDeliveries(d)
			want := *d
			want.Verdict, want.Code, want.Runs = hook.Duplicate, "", []run.ID{"run_1", "run_2", "run_3"}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				changed := *d
				changed.Verdict, changed.Code = hook.Duplicate, ""
				return st.Hooks.Deliveries.AddRuns(ctx, &changed, "run_3")
			})
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Hooks.Deliveries.Get(ctx, tenant.All(h.Tenant()), h.Trigger(), d.ID)
				if err == nil {
					if diff := cmp.Diff(&want, got); diff != "" || d.Size == 0 {
						f.Error(diff)
					}
				}
				_, missing := st.Hooks.Deliveries.Get(ctx, tenant.All(h.Tenant()), h.Trigger(), "hdl_none")
				f.wantError(missing, domain.NotFound, "hook_delivery_not_found")
				return err
			})
		},
		"large and small ones that are added together come back whole": func(f fixture) {
			h := f.hooked()
			small, large, other := hookDelivery(h, 0, hook.Accepted), hookDelivery(h, 1, hook.RefusedSender), hookDelivery(h, 2, hook.Accepted)
			large.Request.Body = bytes.Repeat([]byte("what was sent\x00\xff"), hook.MaxBody/15)
			f.addDeliveries(small, large, other)
			for _, d := range []*hook.Received{small, large, other} {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Hooks.Deliveries.Get(ctx, tenant.All(h.Tenant()), h.Trigger(), d.ID)
					if err == nil && (!bytes.Equal(got.Request.Body, d.Request.Body) || got.Verdict != d.Verdict || got.Size != d.Size) {
						f.Errorf("of %s %d bytes came back of %d", d.ID, len(got.Request.Body), len(d.Request.Body))
					}
					return err
				})
			}
		},
		"of those that were refused the newest are kept, and they are not what the tenant stores": func(f fixture) {
			h := f.hooked()
			kept := hookDelivery(h, 0, hook.Accepted)
			f.addDeliveries(kept)
			before := f.storedBytes(h)
			for i := range hook.MaxRefused + 5 {
				f.addDeliveries(hookDelivery(h, i+1, hook.RefusedSender))
			}
			_, refused := f.hookDeliveries(h, hook.ReceivedFilter{Verdict: hook.RefusedSender})
			ids, _ := f.hookDeliveries(h, hook.ReceivedFilter{Verdict: hook.Accepted})
			if refused > hook.MaxRefused || refused < hook.MaxRefused/2 || len(ids) != 1 || before != kept.Size || f.storedBytes(h) != before {
				f.Errorf("%d are kept next to %v, and %d bytes where there were %d", refused, ids, f.storedBytes(h), before)
			}
		},
		"a sweep removes the oldest of a tenant": func(f fixture) {
			h, other := f.hooked(), f.hooked()
			last := hookDelivery(h, 2, hook.Accepted)
			f.addDeliveries(hookDelivery(h, 0, hook.Accepted), hookDelivery(h, 1, hook.RefusedSender), last, hookDelivery(other, 0, hook.Accepted))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				n, err := st.Hooks.Deliveries.Sweep(ctx, h.Tenant(), last.At, 100)
				if n != 2 {
					f.Errorf("%d were swept", n)
				}
				return err
			})
			ids, _ := f.hookDeliveries(h, hook.ReceivedFilter{})
			_, others := f.hookDeliveries(other, hook.ReceivedFilter{})
			if len(ids) != 1 || ids[0] != last.ID || others != 1 || f.storedBytes(h) != last.Size {
				f.Errorf("%v and %d others are left, and %d bytes of %d are counted", ids, others, f.storedBytes(h), last.Size)
			}
		},
	})
}

func listedHookDeliveries(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a list is narrowed by verdict and time": func(f fixture) {
			h := f.hooked()
			all := []*hook.Received{hookDelivery(h, 0, hook.Accepted), hookDelivery(h, 1, hook.Filtered), hookDelivery(h, 2, hook.Accepted)}
			f.addDeliveries(all...)
			from, to := noon.Add(time.Second), noon.Add(2*time.Second)
			for claim, c := range map[string]struct {
				filter hook.ReceivedFilter
				want   []hook.DeliveryID
			}{
				"all":      {hook.ReceivedFilter{}, []hook.DeliveryID{all[0].ID, all[1].ID, all[2].ID}},
				"accepted": {hook.ReceivedFilter{Verdict: hook.Accepted}, []hook.DeliveryID{all[0].ID, all[2].ID}},
				"between":  {hook.ReceivedFilter{From: &from, To: &to}, []hook.DeliveryID{all[1].ID}},
			} {
				if ids, total := f.hookDeliveries(h, c.filter); !cmp.Equal(ids, c.want) || total != len(c.want) {
					f.Errorf("%s: %v of %d", claim, ids, total)
				}
			}
		},
		"a job collects those of a time, but none that was refused, and of a repeat that was rejected the first one": func(f fixture) {
			h, other := f.hooked(), f.hooked()
			of := func(seconds int, verdict hook.Verdict, replayOf hook.DeliveryID) *hook.Received {
				d := hookDelivery(h, seconds, verdict)
				d.ReplayOf = replayOf
				return d
			}
			accepted, again, rejected := of(1, hook.Accepted, ""), of(2, hook.Accepted, "hdl_0"), of(3, hook.Rejected, "")
			f.addDeliveries(of(0, hook.Accepted, ""), accepted, again, rejected, of(4, hook.Rejected, rejected.ID), of(5, hook.RefusedSender, ""), of(6, hook.Accepted, ""),
				hookDelivery(other, 2, hook.Accepted))
			from, to := noon.Add(time.Second), noon.Add(6*time.Second)
			for verdict, want := range map[hook.Verdict][]hook.DeliveryID{
				"": {accepted.ID, again.ID, rejected.ID}, hook.Accepted: {accepted.ID, again.ID}, hook.Rejected: {rejected.ID}, hook.RefusedSender: nil,
			} {
				j, err := job.NewReplay(job.ID(newID("job")), tenant.All(h.Tenant()), job.ReplayDraft{Trigger: h.Trigger(), From: &from, To: &to, Verdict: string(verdict)}, to.Add(time.Second))
				if err != nil {
					f.Fatal(err)
				}
				var got []hook.DeliveryID
				for _, id := range f.job(j) {
					got = append(got, hook.DeliveryID(id))
				}
				if j.Status() == job.Running { // a tenant has one at a time
					if err := j.Cancel(to.Add(time.Second)); err != nil {
						f.Fatal(err)
					}
					f.updateJob(j)
				}
				if slices.Sort(got); !cmp.Equal(got, want) {
					f.Errorf("with the verdict %q: %v, not %v", verdict, got, want)
				}
			}
		},
	})
}

// storedBytes is what is counted for the tenant of a hook.
func (f fixture) storedBytes(h *hook.Hook) (stored int64) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Trigger(ctx, tenant.All(h.Tenant()), h.Trigger())
		stored = found.StoredBytes
		return err
	})
	return stored
}

func hookKeys(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a key stands for the first run, for as long as it is kept": func(f fixture) {
			one, two := f.tenant().ID(), f.tenant().ID()
			key := func(owner tenant.ID, key, id string) outbound.HookKey {
				return outbound.HookKey{Tenant: owner, Key: key, Run: run.ID(id)}
			}
			got := f.take(noon, key(one, "b", "run_1"), key(one, "a", "run_2"), key(two, "b", "run_3"), key(one, "b", "run_4"))
			if diff := cmp.Diff([]run.ID{"", "", "", "run_1"}, got); diff != "" {
				f.Error(diff)
			}
			got = f.take(noon.Add(hook.KeyRetention-time.Millisecond), key(one, "a", "run_5"), key(one, "c", "run_6"))
			if diff := cmp.Diff([]run.ID{"run_2", ""}, got); diff != "" {
				f.Error(diff)
			}
			late := noon.Add(hook.KeyRetention)
			if got = f.take(late, key(one, "a", "run_7")); got[0] != "" {
				f.Errorf("after its time the key stands for %s", got[0])
			}
			f.read(func(ctx context.Context, st outbound.Stores) error {
				for k, want := range map[string]run.ID{"a": "run_7", "b": "", "c": "run_6", "d": ""} {
					holder, err := st.Hooks.Keys.Holder(ctx, key(one, k, ""), late)
					if err != nil || holder != want {
						f.Errorf("%s stands for %q: %v", k, holder, err)
					}
				}
				return nil
			})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				n, err := st.Hooks.Keys.Sweep(ctx, noon.Add(time.Minute), 10)
				if n != 2 {
					f.Errorf("%d were swept", n)
				}
				return err
			})
		},
		"a key that is released is free, unless it stands for another run": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			key := func(owner tenant.ID, key string, id run.ID) outbound.HookKey {
				return outbound.HookKey{Tenant: owner, Key: key, Run: id}
			}
			f.take(noon, key(owner, "kept", "run_1"), key(owner, "freed", "run_1"))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				for _, k := range []outbound.HookKey{key(owner, "kept", "run_2"), key(other, "kept", "run_1"), key(owner, "none", "run_1"), key(owner, "freed", "run_1")} {
					if err := st.Hooks.Keys.Release(ctx, k); err != nil {
						return err
					}
				}
				return nil
			})
			got := f.take(noon, key(owner, "kept", "run_3"), key(owner, "freed", "run_3"))
			if diff := cmp.Diff([]run.ID{"run_1", ""}, got); diff != "" {
				f.Error(diff)
			}
		},
		"of thirty units with one key one takes it": func(f fixture) {
			owner := f.tenant().ID()
			holders := make([]run.ID, 30)
			var all sync.WaitGroup
			for i := range holders {
				all.Go(func() {
					err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
						got, err := st.Hooks.Keys.Take(ctx, []outbound.HookKey{{Tenant: owner, Key: "k", Run: run.ID(fmt.Sprint("run_", i))}}, noon)
						if err == nil {
							holders[i] = got[0]
						}
						return err
					})
					if err != nil {
						f.Error(err)
					}
				})
			}
			all.Wait()
			first, winners := run.ID(""), 0
			for i, holder := range holders {
				if holder == "" {
					winners++
					first = run.ID(fmt.Sprint("run_", i))
				}
			}
			for _, holder := range holders {
				if winners != 1 || holder != "" && holder != first {
					f.Errorf("%d took it: %v", winners, holders)
					break
				}
			}
		},
	})
}
