package sqlstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// waitingEntry is an entry in the operator's log.
func waitingEntry(id audit.ID) audit.Entry {
	act := audit.Act{Actor: audit.Actor{Kind: audit.ByKey, ID: "key_1", Name: "n"}, Action: "changeWorkflow"}
	return audit.New(id, act, "", audit.Target{Kind: "workflow", ID: "wf_1"}, nil, domain.Facts{"name": domain.TextFact(`"a"`)}, plantest.Noon, "salt")
}

// Entries that were waiting when their digests came have none.
func TestAnEntryWithoutADigestIsSealedByWhatItSays(t *testing.T) {
	t.Parallel()
	for name, open := range sealedStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, db := open(t)
			do := func(fn func(ctx context.Context, st outbound.Stores) error) {
				t.Helper()
				if err := store.Do(t.Context(), fn); err != nil {
					t.Fatal(err)
				}
			}
			do(func(ctx context.Context, st outbound.Stores) error {
				return st.Audit.Log.Append(ctx, waitingEntry("aud_1"), waitingEntry("aud_2"))
			})
			if _, err := db.ExecContext(t.Context(), `UPDATE audit_waiting SET digest = NULL WHERE id = 'aud_1'`); err != nil {
				t.Fatal(err)
			}
			var v *audit.Verifier
			do(func(ctx context.Context, st outbound.Stores) error {
				head, _, err := st.Audit.Sealing.Hold(ctx, "")
				if err != nil {
					return err
				}
				waiting, err := st.Audit.Sealing.Next(ctx, "", 10)
				if err != nil {
					return err
				}
				head.Seal(waiting)
				v = audit.NewVerifier(head, nil)
				return st.Audit.Sealing.Seal(ctx, head, waiting)
			})
			do(func(ctx context.Context, st outbound.Stores) error {
				all, err := st.Audit.Chain.Sealed(ctx, "", 0, 10)
				for _, e := range all {
					v.Next(e)
				}
				return err
			})
			if v.Finish(); v.Failed > 0 || v.Checked != 2 {
				t.Error(v.Checked, v.Problems)
			}
		})
	}
}

// Who seals is called after the commit of entries, and of nothing else.
func TestWhoSealsIsCalledWhenThereAreEntries(t *testing.T) {
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		e := fixture.New(t, store)
		like := e.NewSimpleTrigger(`{}`).State()
		calls := 0
		store.OnAudited(func() { calls++ })
		onPurpose := errors.New("on purpose")
		added := func(id trigger.ID, entry *audit.Entry) func() error {
			return func() error {
				like.ID = id
				return sqlstore.NewTriggerInserter(store).Insert(t.Context(), []*outbound.NewTrigger{{Trigger: trigger.Restore(like), Entry: entry}})
			}
		}
		unit := func(fn func(ctx context.Context, st outbound.Stores) error) func() error {
			return func() error { return store.Do(t.Context(), fn) }
		}
		entry := waitingEntry("aud_3")
		for _, step := range []struct {
			what  string
			do    func() error
			err   error
			calls int
		}{
			{"an entry that is not kept", unit(func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Audit.Log.Append(ctx, waitingEntry("aud_1")), onPurpose)
			}), onPurpose, 0},
			{"no entry", unit(func(ctx context.Context, st outbound.Stores) error { return st.Audit.Log.Append(ctx) }), nil, 0},
			{"an entry", unit(func(ctx context.Context, st outbound.Stores) error {
				return st.Audit.Log.Append(ctx, waitingEntry("aud_2"))
			}), nil, 1},
			{"a trigger without one", added("trg_1", nil), nil, 1},
			{"a trigger with one", added("trg_2", &entry), nil, 2},
		} {
			if err := step.do(); !errors.Is(err, step.err) || calls != step.calls {
				t.Errorf("after %s: %d calls, not %d: %v", step.what, calls, step.calls, err)
			}
		}
	})
}
