package sqlstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Stored deliveries are made to look like larger ones, and more, than a test wants to write.
func TestDeliveriesAboveTheBoundsOfAHookGoTheOldestFirst(t *testing.T) {
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		e := fixture.New(t, store)
		h := newHook(t, e)
		n := 0
		add := func() hook.DeliveryID {
			n++
			id := hook.DeliveryID(fmt.Sprintf("hdl_%026d", n))
			e.Do(func(ctx context.Context, st outbound.Stores) error {
				return st.Hooks.Deliveries.Add(ctx, &hook.Received{ID: id, Tenant: h.Tenant(), Trigger: h.Trigger(), At: time.Now(), Verdict: hook.Accepted})
			})
			return id
		}
		statement := func(query string) {
			t.Helper()
			if err := store.Statements(t.Context(), func(u *core.Unit) error {
				_, err := u.Exec(t.Context(), "make deliveries large", query)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		for range 8 {
			add()
		}
		const large = 40 << 20
		statement(fmt.Sprintf("UPDATE hook_deliveries SET size = %d", large))
		statement(fmt.Sprintf("UPDATE hook_usage SET bytes = %d", 8*large))
		last := add()
		kept := func() (ids []string) {
			if err := store.Statements(t.Context(), func(u *core.Unit) error {
				return u.ReadRows(t.Context(), "list deliveries", &ids, "SELECT id FROM hook_deliveries ORDER BY id")
			}); err != nil {
				t.Fatal(err)
			}
			return ids
		}
		if all := kept(); len(all) != 7 || all[6] != string(last) || all[0] != "hdl_00000000000000000000000003" {
			t.Errorf("of what is too large %v is kept", all)
		}
		statement("UPDATE hook_deliveries SET size = 100")
		statement("UPDATE hook_usage SET bytes = 700")
		for range hook.MaxKept / 100 {
			var many []*hook.Received
			for range 100 {
				n++
				many = append(many, &hook.Received{ID: hook.DeliveryID(fmt.Sprintf("hdl_%026d", n)), Tenant: h.Tenant(), Trigger: h.Trigger(), At: time.Now(), Verdict: hook.Accepted})
			}
			e.Do(func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Deliveries.Add(ctx, many...) })
		}
		last = add()
		var counted int
		if err := store.Statements(t.Context(), func(u *core.Unit) error {
			return u.ReadRow(t.Context(), "count", &counted, "SELECT kept FROM hook_usage")
		}); err != nil {
			t.Fatal(err)
		}
		if all := kept(); len(all) > hook.MaxKept || len(all) < hook.MaxKept*9/10 || counted != len(all) || all[len(all)-1] != string(last) {
			t.Errorf("%d are kept, up to %s, and %d are counted", len(all), all[len(all)-1], counted)
		}
	})
}

// newHook stores a hook that trusts everybody.
func newHook(t *testing.T, e *fixture.Env) *hook.Hook {
	t.Helper()
	var r domain.Rules
	h, err := hook.New(e.NewSimpleTrigger(`{}`), hook.Draft{Config: hook.Config{Scheme: hook.ParseScheme(&r, "", []byte(`{"kind":"none"}`))}}, hook.NewToken([hook.TokenEntropy]byte{1}), hook.Checks{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e.Do(func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Hooks.Insert(ctx, h) })
	return h
}
