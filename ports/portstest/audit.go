package portstest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// entry makes an entry of the tenant's log, so many seconds after noon.
func entry(owner tenant.ID, second int, edit func(*audit.Act, *audit.Target)) audit.Entry {
	act := audit.Act{Actor: audit.Actor{Kind: audit.ByEmbedToken, ID: "emb_1", Name: "n", Subject: "Änna"}, Action: "changeWorkflow", RequestID: "req_1", Address: "192.0.2.1"}
	on := audit.Target{Kind: "workflow", ID: "wf_1"}
	if edit != nil {
		edit(&act, &on)
	}
	return audit.New(audit.ID(newID(audit.IDPrefix)), act, owner, on, domain.Facts{"name": domain.TextFact(`"a\u0000"`)}, domain.Facts{"name": domain.TextFact(`"b"`)},
		noon.Add(time.Duration(second)*time.Second), newID("salt"))
}

func (f fixture) audited(entries ...audit.Entry) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Audit.Log.Append(ctx, entries...) })
}

// seal seals what waits of a tenant, and returns how many that were.
func (f fixture) seal(owner tenant.ID, limit int) (n int) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		head, ok, err := st.Audit.Sealing.Hold(ctx, owner)
		if err != nil || !ok {
			return err
		}
		waiting, err := st.Audit.Sealing.Next(ctx, owner, limit)
		if err != nil {
			return err
		}
		head.Seal(waiting)
		n = len(waiting)
		return st.Audit.Sealing.Seal(ctx, head, waiting)
	})
	return n
}

// chain reads a whole chain.
func (f fixture) chain(owner tenant.ID) (head audit.Head, all []audit.Entry) {
	f.Helper()
	f.newest(func(ctx context.Context, st outbound.Stores) (err error) {
		if head, err = st.Audit.Chain.Head(ctx, owner); err != nil {
			return err
		}
		all, err = st.Audit.Chain.Sealed(ctx, owner, 0, 1000)
		return err
	})
	return head, all
}

func (f fixture) wantWhole(head audit.Head, all []audit.Entry) {
	f.Helper()
	v := audit.NewVerifier(head, nil)
	for _, e := range all {
		v.Next(e)
	}
	if v.Finish(); v.Failed > 0 {
		f.Error(v.Problems)
	}
}

// wantErased wants no value of a log, and its chain whole.
func (f fixture) wantErased(owner tenant.ID) {
	f.Helper()
	head, all := f.chain(owner)
	f.wantWhole(head, all)
	for _, e := range all {
		if e.Erase(func(string) bool { return true }) > 0 {
			f.Errorf("%s still has values", e.ID)
		}
	}
}

func entryIDs(entries []audit.Entry) []audit.ID {
	ids := make([]audit.ID, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

// Audit is the contract of outbound.AuditStores.
func Audit(t *testing.T, open OpenStore) {
	t.Run("Log", func(t *testing.T) { auditLog(t, open) })
	t.Run("Sealing", func(t *testing.T) { auditSealing(t, open) })
	t.Run("Chain", func(t *testing.T) { auditChain(t, open) })
}

func auditLog(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field of an entry comes back, sealed or not": func(f fixture) {
			owner := f.tenant().ID()
			want := entry(owner, 0, nil)
			f.audited(want)
			for _, sealed := range []bool{false, true} {
				if sealed {
					head := audit.Head{Tenant: owner}
					one := []audit.Link{{Digest: want.Digest()}}
					head.Seal(one)
					want.Sequence, want.Hash = one[0].Sequence, one[0].Hash
					f.seal(owner, 10)
				}
				f.newest(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Audit.Log.List(ctx, owner, audit.Filter{}, domain.Query{})
					if diff := cmp.Diff([]audit.Entry{want}, found.Items); diff != "" || found.Total != 1 {
						f.Error(diff)
					}
					return err
				})
			}
		},
		"a list has what fits, of the tenant alone, the newest first; what stands behind a place comes the oldest first": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			all := []audit.Entry{
				entry(owner, 0, nil), entry(owner, 1, func(a *audit.Act, _ *audit.Target) { a.Actor.ID = "key_2" }), entry(owner, 2, func(a *audit.Act, _ *audit.Target) { a.Action = "other" }),
				entry(owner, 2, func(_ *audit.Act, on *audit.Target) { on.ID = "wf_2" }), entry(other, 0, nil), entry("", 0, nil),
			}
			f.audited(all...)
			from, to := noon.Add(time.Second), noon.Add(2*time.Second)
			for name, one := range map[string]struct {
				owner  tenant.ID
				filter audit.Filter
				want   []int
			}{
				"all": {owner, audit.Filter{}, []int{0, 1, 2, 3}}, "actor": {owner, audit.Filter{Actor: "key_2"}, []int{1}}, "action": {owner, audit.Filter{Action: "other"}, []int{2}},
				"target": {owner, audit.Filter{Target: "wf_2"}, []int{3}}, "from": {owner, audit.Filter{From: &from}, []int{1, 2, 3}}, "to": {owner, audit.Filter{To: &to}, []int{0, 1}},
				"both": {owner, audit.Filter{Actor: "emb_1", From: &from, To: &to}, nil}, "another tenant's": {other, audit.Filter{}, []int{4}}, "the operator's": {"", audit.Filter{}, []int{5}},
			} {
				var want, reversed []audit.ID
				for _, i := range one.want {
					want, reversed = append(want, all[i].ID), append([]audit.ID{all[i].ID}, reversed...)
				}
				f.newest(func(ctx context.Context, st outbound.Stores) error {
					page, err := st.Audit.Log.List(ctx, one.owner, one.filter, domain.Query{})
					if err != nil {
						return err
					}
					if diff := cmp.Diff(fmt.Sprint(reversed), fmt.Sprint(entryIDs(page.Items))); diff != "" || page.Total != len(want) {
						f.Error(name, page.Total, diff)
					}
					var got []audit.ID
					var place outbound.AuditPlace
					for {
						next, err := st.Audit.Log.After(ctx, one.owner, one.filter, place, 1)
						if err != nil || len(next) == 0 {
							if diff := cmp.Diff(want, got); diff != "" {
								f.Error(name, diff)
							}
							return err
						}
						got, place = append(got, next[0].ID), outbound.AuditPlace{At: next[0].At, ID: next[0].ID}
					}
				})
			}
		},
		"of values that cannot be read there is one that says so, and the entry is sealed and counts as altered": func(f fixture) {
			owner := f.tenant().ID()
			broken := entry(owner, 0, nil)
			broken.Values[len(broken.Values)-1].New = `{"`
			f.audited(broken, entry(owner, 1, nil))
			f.seal(owner, 10)
			head, all := f.chain(owner)
			if len(all) != 2 || len(all[0].Changes()) != 1 || all[0].Changes()[0].Field != "unreadable" || len(all[1].Values) != len(broken.Values) {
				f.Fatalf("%+v", all)
			}
			v := audit.NewVerifier(head, nil)
			for _, e := range all {
				v.Next(e)
			}
			if v.Finish(); v.Failed != 1 || v.Problems[0].Sequence != 1 {
				f.Error(v.Problems)
			}
		},
		"what is not committed is not there": func(f fixture) {
			owner := f.tenant().ID()
			_ = f.try(func(ctx context.Context, st outbound.Stores) error {
				if err := st.Audit.Log.Append(ctx, entry(owner, 0, nil)); err != nil {
					return err
				}
				return domain.Fail(domain.Conflict, "no", "no")
			})
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				page, err := st.Audit.Log.List(ctx, owner, audit.Filter{}, domain.Query{})
				if page.Total != 0 {
					f.Error(page.Items)
				}
				return err
			})
		},
	})
}

func auditSealing(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"nothing is left of a tenant that is deleted, and all of others": func(f fixture) {
			owner := f.tenant().ID()
			f.audited(entry(owner, 0, nil), entry("", 0, nil))
			f.seal(owner, 10)
			f.seal("", 10)
			f.audited(entry(owner, 1, nil))
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
			if head, all := f.chain(owner); head.Sequence != 0 || len(all) > 0 {
				f.Error(head, all)
			}
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				waiting, err := st.Audit.Sealing.Unsealed(ctx, 10)
				if len(waiting) > 0 {
					f.Error(waiting)
				}
				return err
			})
			if head, all := f.chain(""); head.Sequence != 1 || len(all) != 1 {
				f.Error(head, all)
			}
		},
		"who waits is told, the longest first, until it is sealed": func(f fixture) {
			first, second := f.tenant().ID(), f.tenant().ID()
			f.audited(entry(second, 1, nil), entry(second, 7, nil), entry(first, 2, nil), entry("", 3, nil))
			waiting := func(limit int) (all []outbound.AuditBacklog) {
				f.newest(func(ctx context.Context, st outbound.Stores) (err error) {
					all, err = st.Audit.Sealing.Unsealed(ctx, limit)
					return err
				})
				return all
			}
			want := []outbound.AuditBacklog{{Tenant: second, Since: noon.Add(time.Second)}, {Tenant: first, Since: noon.Add(2 * time.Second)}, {Tenant: "", Since: noon.Add(3 * time.Second)}}
			if diff := cmp.Diff(want, waiting(10)) + cmp.Diff(want[:2], waiting(2)); diff != "" {
				f.Error(diff)
			}
			f.seal(second, 1)
			f.seal("", 10)
			want = []outbound.AuditBacklog{{Tenant: first, Since: noon.Add(2 * time.Second)}, {Tenant: second, Since: noon.Add(7 * time.Second)}}
			if diff := cmp.Diff(want, waiting(10)); diff != "" {
				f.Error(diff)
			}
		},
		"entries are sealed in the order of their times, each once, some at a time": func(f fixture) {
			owner := f.tenant().ID()
			all := []audit.Entry{entry(owner, 3, nil), entry(owner, 1, nil), entry(owner, 2, nil)}
			f.audited(all...)
			for _, want := range []int{2, 1, 0} {
				if n := f.seal(owner, 2); n != want {
					f.Errorf("%d were sealed, not %d", n, want)
				}
			}
			head, chained := f.chain(owner)
			if diff := cmp.Diff([]audit.ID{all[1].ID, all[2].ID, all[0].ID}, entryIDs(chained)); diff != "" {
				f.Error(diff)
			}
			f.wantWhole(head, chained)
		},
		"values that are erased while they wait stay so, and the chain is whole": func(f fixture) {
			owner := f.tenant().ID()
			e := entry(owner, 0, nil)
			f.audited(e)
			e.Erase(func(string) bool { return true })
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Audit.Log.Erase(ctx, e) })
			f.seal(owner, 10)
			f.wantErased(owner)
		},
		"values that are erased while others seal are lost by nobody": func(f fixture) {
			owner := f.tenant().ID()
			const entries = 30
			all := make([]audit.Entry, entries)
			for i := range all {
				all[i] = entry(owner, i, nil)
			}
			f.audited(all...)
			var both sync.WaitGroup
			both.Go(func() {
				for _, e := range all {
					e.Erase(func(string) bool { return true })
					f.write(func(ctx context.Context, st outbound.Stores) error { return st.Audit.Log.Erase(ctx, e) })
				}
			})
			both.Go(func() {
				for range entries {
					f.seal(owner, 2)
				}
			})
			both.Wait()
			for f.seal(owner, 10) > 0 { // what was left out because it was being erased
			}
			if _, chained := f.chain(owner); len(chained) != entries {
				f.Errorf("%d entries are sealed", len(chained))
			}
			f.wantErased(owner)
		},
		"of several who write and seal at once nothing is lost, and the chain is whole": func(f fixture) {
			owner := f.tenant().ID()
			var all sync.WaitGroup
			const writers, each = 4, 5
			for range writers {
				all.Go(func() {
					for i := range each {
						f.audited(entry(owner, i, nil))
						f.seal(owner, 3)
					}
				})
			}
			all.Wait()
			for f.seal(owner, 10) > 0 { // what somebody else held
			}
			head, chained := f.chain(owner)
			if head.Sequence != writers*each || len(chained) != writers*each {
				f.Errorf("%d and %d", head.Sequence, len(chained))
			}
			f.wantWhole(head, chained)
		},
	})
}

func auditChain(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a chain that has not begun has no entries, and heads come by their tenant, the operator's first": func(f fixture) {
			first, second, quiet := f.tenant().ID(), f.tenant().ID(), f.tenant().ID()
			f.audited(entry(first, 0, nil), entry(second, 0, nil), entry("", 0, nil))
			for _, owner := range []tenant.ID{second, first, ""} {
				f.seal(owner, 10)
			}
			if head, all := f.chain(quiet); head != (audit.Head{Tenant: quiet}) || len(all) > 0 {
				f.Error(head, all)
			}
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				var got []tenant.ID
				var behind *tenant.ID
				for {
					heads, err := st.Audit.Chain.Heads(ctx, behind, 1)
					if err != nil || len(heads) == 0 {
						if diff := cmp.Diff([]tenant.ID{"", first, second}, got); diff != "" {
							f.Error(diff)
						}
						return err
					}
					got, behind = append(got, heads[0].Tenant), &heads[0].Tenant
				}
			})
		},
		"what is left of a tenant that is gone is swept, and nothing else; nobody's chain begins without entries": func(f fixture) {
			owner, gone := f.tenant().ID(), f.tenant().ID()
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, gone) })
			f.seal(gone, 10)
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				heads, err := st.Audit.Chain.Heads(ctx, nil, 10)
				if len(heads) > 0 {
					f.Error(heads)
				}
				return err
			})
			f.audited(entry("", 0, nil), entry(owner, 0, nil), entry(gone, 0, nil), entry(gone, 1, nil))
			for _, one := range []tenant.ID{"", owner, gone} {
				f.seal(one, 1)
			}
			for _, want := range []int{3, 0} { // two entries and a head
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Audit.Chain.Sweep(ctx)
					if n != want {
						f.Errorf("%d were removed, not %d", n, want)
					}
					return err
				})
			}
			for one, want := range map[tenant.ID]int{"": 1, owner: 1, gone: 0} {
				if head, all := f.chain(one); head.Sequence != int64(want) || len(all) != want {
					f.Error(one, head, all)
				}
			}
		},
		"who has sealed entries from before a time is told; what is pruned is gone, and the rest a chain": func(f fixture) {
			owner, fresh := f.tenant().ID(), f.tenant().ID()
			f.audited(entry(owner, 0, nil), entry(owner, 1, nil), entry(owner, 2, nil), entry(fresh, 2, nil))
			aged := func() (found []tenant.ID) {
				f.newest(func(ctx context.Context, st outbound.Stores) (err error) {
					found, err = st.Audit.Chain.Aged(ctx, noon.Add(2*time.Second), nil, 10)
					if err == nil && len(found) > 0 {
						if more, _ := st.Audit.Chain.Aged(ctx, noon.Add(2*time.Second), &found[len(found)-1], 10); len(more) > 0 {
							f.Error("behind the last", more)
						}
					}
					return err
				})
				return found
			}
			if found := aged(); len(found) > 0 {
				f.Error("what is not sealed stays", found)
			}
			f.seal(owner, 10)
			f.seal(fresh, 10)
			if diff := cmp.Diff([]tenant.ID{owner}, aged()); diff != "" {
				f.Error(diff)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				head, _, err := st.Audit.Sealing.Hold(ctx, owner)
				if err != nil {
					return err
				}
				old, err := st.Audit.Chain.Sealed(ctx, owner, 0, 2)
				if err != nil {
					return err
				}
				head.Prune(old[1])
				return st.Audit.Chain.Prune(ctx, 0, head)
			})
			head, all := f.chain(owner)
			if len(all) != 1 || all[0].Sequence != 3 || head.Pruned.Sequence != 2 || !head.Pruned.At.Equal(noon.Add(time.Second)) {
				f.Error(head, all)
			}
			f.wantWhole(head, all)
			if found := aged(); len(found) > 0 {
				f.Error(found)
			}
			if _, all := f.chain(fresh); len(all) != 1 {
				f.Error("another tenant's", all)
			}
		},
	})
}
