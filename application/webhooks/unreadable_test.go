package webhooks_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// damageable opens a store on which exec runs statements that it knows nothing of.
func damageable(t *testing.T) (store outbound.UnitOfWork, exec func(statement string)) {
	t.Helper()
	file := sqlitetest.File(t)
	opened, err := sqlite.Open(t.Context(), file, sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() }) // nothing is pending
	return opened, func(statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }() // nothing is pending
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// Of one tenant an endpoint cannot be read, of another an event, of a third what was tried
// before. Each is reported by name, now and then, all others are delivered meanwhile, and
// they are too once somebody has repaired them.
func TestWhatCannotBeReadIsReportedAndDeliveredOnceItIsRepaired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, exec := damageable(t)
		h := newHarness(t, store)
		h.poll = time.Hour
		third := h.tenant()
		broken, good := h.endpoint("broken"), h.endpoint("good")
		elsewhere, down := h.endpointOf(h.other, "elsewhere"), h.endpointOf(third, "down")
		secret := broken.Secret().Reveal()
		exec(`UPDATE webhook_endpoints SET secret = 'lost' WHERE id = '` + string(broken.ID()) + `'`)
		h.happen(event.RunFailed)
		dated := h.happenTo(h.other, event.RunStarted)
		exec(`UPDATE webhook_events SET happened_at = 'yesterday' WHERE id = '` + string(dated.ID()) + `'`)
		h.receivers.status(500)
		r := h.observe(quiet)
		h.happenTo(third, event.RunFailed)
		time.Sleep(time.Second)
		h.receivers.status(200)
		exec(`UPDATE webhook_deliveries SET attempts = '[{' WHERE endpoint_id = '` + string(down.ID()) + `'`)
		h.happenTo(h.other, event.RunFailed)
		time.Sleep(24 * time.Hour)

		if to := h.times(); len(to[broken.URL()]) != 0 || len(to[good.URL()]) != 2 || len(to[elsewhere.URL()]) != 1 || len(to[down.URL()]) != 1 {
			t.Errorf("arrived: %v", to)
		}
		for _, names := range [][]string{
			{string(h.who.Tenant()), string(broken.ID())}, {string(h.other.Tenant()), string(dated.ID())}, {string(third.Tenant()), "attempts"},
		} {
			n := 0
			for _, err := range r.errors() {
				if !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(err.Error(), name) }) {
					n++
				}
			}
			if n < 20 || n > 36 {
				t.Errorf("%v were reported %d times in a day", names, n)
			}
		}
		if n := r.Unreadable(); int(n) != len(r.errors()) || r.panics(t) != 0 {
			t.Errorf("%d were counted, and %d reported", n, len(r.errors()))
		}
		if _, err := h.deliveries.List(t.Context(), third, down.ID(), event.DeliveryFilter{}, domain.Query{}); err == nil {
			t.Error("who asks for it is not told")
		}

		exec(`UPDATE webhook_endpoints SET secret = '` + secret + `' WHERE id = '` + string(broken.ID()) + `'`)
		exec(`UPDATE webhook_events SET happened_at = '2026-11-21 12:00:00+00:00' WHERE id = '` + string(dated.ID()) + `'`)
		exec(`UPDATE webhook_deliveries SET attempts = '[]' WHERE endpoint_id = '` + string(down.ID()) + `'`)
		time.Sleep(outbound.MaxRetryWait + time.Minute)
		r.end()
		if to := h.times(); len(to[broken.URL()]) != 1 || len(to[elsewhere.URL()]) != 2 || len(to[down.URL()]) != 2 || !h.next().IsZero() {
			t.Errorf("arrived after the repair: %v", to)
		}
	})
}
