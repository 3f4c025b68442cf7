package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/secrets"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// sealedStores are stores that encrypt secrets, with a connection past them.
var sealedStores = map[string]func(t *testing.T) (*sqlstore.Store, *sql.DB){
	"PostgreSQL": func(t *testing.T) (*sqlstore.Store, *sql.DB) { return plantest.Filled(t, nil) },
	"SQLite":     plantest.SQLite,
}

// keep stores two tenants, of whom each has two endpoints and a node secret.
func keep(t *testing.T, store *sqlstore.Store) {
	t.Helper()
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		for i, owner := range []tenant.ID{"tenant_a", "tenant_b"} {
			ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, plantest.Noon)
			if err != nil {
				return err
			}
			if err := st.Tenants.Insert(ctx, ten); err != nil {
				return err
			}
			secret := func(n int) domain.SigningSecret {
				return domain.NewSigningSecret([domain.SecretEntropy]byte{byte(i + 1), byte(n)})
			}
			for n := range 2 {
				e, err := event.NewEndpoint(event.EndpointID(fmt.Sprintf("whk_%d%d", i, n)), owner, event.EndpointDraft{URL: "https://example.com"}, secret(n), plantest.Noon)
				if err != nil {
					return err
				}
				e.RotateSecret(secret(n+10), plantest.Noon)
				if err := st.Webhooks.Endpoints.Insert(ctx, e); err != nil {
					return err
				}
			}
			if err := st.NodeSecrets.Insert(ctx, tenant.NewNodeSecret(owner, secret(20), plantest.Noon)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unreadable lists what does not open, and how much of the rest is in clear.
func unreadable(t *testing.T, store *sqlstore.Store) (fields map[string]bool, plain int) {
	t.Helper()
	fields = make(map[string]bool)
	var at outbound.SealedCursor
	for !at.Done {
		err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			next, found, err := st.Sealed.CheckSealed(ctx, at)
			at, plain = next, plain+found.Clear
			for _, u := range found.Unreadable {
				fields[fmt.Sprint(u.Of.Tenant, " ", u.Of.Record, " ", u.Of.Field)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fields, plain
}

func TestAValueThatWasMovedDoesNotOpen(t *testing.T) {
	t.Parallel()
	swap := func(table, column, a, b string) []string {
		return []string{
			`UPDATE ` + table + ` SET ` + column + ` = (SELECT o.` + column + ` FROM ` + table + ` o WHERE ` + b + `) WHERE ` + a,
		}
	}
	for name, open := range sealedStores {
		for claim, c := range map[string]struct {
			do   []string
			lost string
		}{
			"to another record": {swap("webhook_endpoints", "secret", "id = 'whk_00'", "o.id = 'whk_01'"), "tenant_a whk_00 secret"},
			"to another tenant": {swap("node_secrets", "secret", "tenant_id = 'tenant_a'", "o.tenant_id = 'tenant_b'"), "tenant_a node_secret secret"},
			"to another field":  {[]string{`UPDATE webhook_endpoints SET secret = retired_secrets WHERE id = 'whk_11'`}, "tenant_b whk_11 secret"},
		} {
			t.Run(name+", "+claim, func(t *testing.T) {
				t.Parallel()
				store, db := open(t)
				if err := sealtest.Seal(t.Context(), store); err != nil {
					t.Fatal(err)
				}
				keep(t, store)
				if lost, plain := unreadable(t, store); len(lost) > 0 || plain > 0 {
					t.Fatalf("%v do not open, %d are in clear", lost, plain)
				}
				for _, statement := range c.do {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				if lost, _ := unreadable(t, store); len(lost) != 1 || !lost[c.lost] {
					t.Errorf("%v do not open", lost)
				}
			})
		}
	}
}

// What 0.1.0 kept in clear is read, and sealed by a pass; another pass finds nothing to do.
func TestValuesInClearAreSealed(t *testing.T) {
	t.Parallel()
	for name, open := range sealedStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := open(t)
			store.Cipher = nil // as 0.1.0
			keep(t, store)
			if err := sealtest.Seal(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			if lost, plain := unreadable(t, store); len(lost) > 0 || plain != 10 {
				t.Fatalf("%v do not open, %d are in clear", lost, plain)
			}
			for _, want := range []int{10, 0} {
				var at outbound.SealedCursor
				sealed := 0
				for !at.Done {
					n := 0
					err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
						at, n, err = st.Sealed.Reseal(ctx, at)
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
					sealed += n
				}
				if sealed != want || at.Left > 0 {
					t.Errorf("%d were sealed, not %d", sealed, want)
				}
			}
			if lost, plain := unreadable(t, store); len(lost) > 0 || plain > 0 {
				t.Errorf("%v do not open, %d are in clear", lost, plain)
			}
			err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) error {
				e, err := st.Webhooks.Endpoints.Get(ctx, tenant.All("tenant_a"), "whk_00")
				if err == nil && !e.Secret().Equal(domain.NewSigningSecret([domain.SecretEntropy]byte{1, 10})) {
					t.Error("another secret came back")
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// countedUnits counts the units that write.
type countedUnits struct {
	outbound.UnitOfWork
	writes int
}

func (c *countedUnits) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	c.writes++
	return c.UnitOfWork.Do(ctx, fn)
}

func TestAllLargeValuesAreSealedAnewFewAtATime(t *testing.T) {
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		e := fixture.New(t, store)
		h := newHook(t, e)
		const large, small = 5, 20
		e.Do(func(ctx context.Context, st outbound.Stores) error {
			for i := range large + small {
				d := &hook.Received{ID: hook.DeliveryID(fmt.Sprintf("hdl_%026d", i)), Tenant: h.Tenant(), Trigger: h.Trigger(), At: plantest.Noon, Verdict: hook.Accepted}
				if i%3 == 0 && i < 3*large {
					d.Request.Body = bytes.Repeat([]byte("a"), 600<<10)
				}
				if err := st.Hooks.Deliveries.Add(ctx, d); err != nil {
					return err
				}
			}
			return nil
		})
		maker, ok := store.Cipher.(outbound.KeysetMaker)
		if !ok {
			t.Fatal("the cipher makes no keysets")
		}
		work := &countedUnits{UnitOfWork: store}
		service := secrets.New(work, maker)
		done, err := service.Rotate(t.Context(), func(inbound.RotationProgress) {})
		if err != nil || done.Left > 0 || done.Resealed < large+small || work.writes < large {
			t.Fatalf("%+v in %d units: %v", done, work.writes, err)
		}
		if found, err := service.Check(t.Context()); err != nil || found.Older > 0 || found.Clear > 0 || len(found.Unreadable) > 0 || found.Sealed < large+small {
			t.Errorf("%+v: %v", found, err)
		}
	})
}
