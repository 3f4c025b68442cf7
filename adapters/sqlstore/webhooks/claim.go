package webhooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/outbound"
)

// dueOwners selects the tenants with deliveries that are due.
func (d dialect) dueOwners() string {
	return `SELECT tenant_id FROM (` + d.Owners + `) AS f WHERE f.free_at <= $2`
}

// OldestDue selects since when the delivery of an active tenant has been due that has been for the
// longest time, of those that need no higher feature level than $1, at the time $2.
func (s *Store) OldestDue() string {
	return `SELECT free_at FROM (` + s.dialect.Owners + `) AS f WHERE f.free_at <= $2 ORDER BY f.free_at LIMIT 1`
}

// ownerRow is a row of [core.Dialect.Rows] that names a tenant.
type ownerRow struct {
	Tenant string `json:"tenant_id" db:"tenant_id"`
}

// Claim leases deliveries. Units that claim do so one after another: only then each knows
// of all leases that the others gave, so that the bounds hold.
func (s queue) Claim(ctx context.Context, c outbound.DeliveryClaim) ([]outbound.DueDelivery, error) {
	dialect := s.store.dialect
	now, err := s.clock(ctx, dialect.BeginClaim)
	if err != nil {
		return nil, err
	}
	var owners []ownerRow
	if err := s.ReadRows(ctx, "find the tenants with due deliveries", &owners, dialect.dueOwners(), int(s.Level()), now); err != nil || len(owners) == 0 {
		return nil, err
	}
	names, err := json.Marshal(owners)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode the tenants with due deliveries: %w", err))
	}
	rows, err := listEach[deliveryRow](ctx, s.unit, "claim due deliveries", dialect.Claim,
		string(names), now, c.Limit, c.Reserved, c.Failing, c.PerTenant, c.PerEndpoint, int(s.Level()))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	until := now.Add(c.Period)
	keys := make([]core.KeyRow, len(rows))
	for i := range rows {
		rows[i].row.LeasedUntil = &until
		keys[i] = rows[i].row.key()
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, s.Fail(err)
	}
	if _, err = s.Exec(ctx, "lease deliveries", `UPDATE webhook_deliveries AS d SET leased_until = $2 FROM `+table+`
		WHERE d.tenant_id = r.tenant_id AND d.id = r.id`, parameter, until); err != nil {
		return nil, err
	}
	due, err := s.withAll(ctx, rows, now)
	if err != nil {
		return nil, err
	}
	return due, s.postponeUnreadable(ctx, due)
}

// postponedRow is a row of [core.Dialect.Rows].
type postponedRow struct {
	Tenant string `json:"tenant_id"`
	ID     string `json:"id"`
	Until  string `json:"until"`
}

// postponeUnreadable ends the leases of what cannot be sent. A lease would count for the bounds of
// its endpoint and its tenant, and keep what can be sent waiting.
func (s queue) postponeUnreadable(ctx context.Context, due []outbound.DueDelivery) error {
	var rows []postponedRow
	for _, d := range due {
		if d.Unreadable != nil {
			rows = append(rows, postponedRow{string(d.Key.Tenant), string(d.Key.Delivery), d.RetryAt.UTC().Format(core.TimeFormat)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode deliveries: %w", err))
	}
	_, err = s.Exec(ctx, "postpone deliveries", `UPDATE webhook_deliveries AS d SET leased_until = NULL, next_attempt_at = r.until FROM `+
		s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "id"}, core.Column{Name: "until", Time: true})+`
		WHERE d.tenant_id = r.tenant_id AND d.id = r.id`, string(text))
	return err
}

// firstDeliveries is how many pending deliveries are looked at for the next one before
// those of each tenant are.
const firstDeliveries = 50

// nextDelivery selects when the first delivery of an active tenant is free, null where it
// is not among the first of all, how many those are, and the time now. Deliveries of
// suspended tenants may stand before it.
func (d dialect) nextDelivery(level process.Level) string {
	return `WITH firsts AS MATERIALIZED (
		SELECT d.tenant_id, d.free_at FROM webhook_deliveries d WHERE d.status = 'pending'` + core.HasLevel("d", level) + ` ORDER BY d.free_at LIMIT ` + strconv.Itoa(firstDeliveries) + `
	) SELECT (SELECT count(*) FROM firsts) AS seen,
		(SELECT min(f.free_at) FROM firsts f JOIN tenants t ON t.id = f.tenant_id WHERE t.status = 'active') AS free_at, ` + d.Clock + ` AS now`
}

// nextDeliveryRow is what nextDelivery finds.
type nextDeliveryRow struct {
	Seen   int                  `db:"seen"`
	FreeAt sql.Null[dueInstant] `db:"free_at"`
	Now    core.Instant         `db:"now"`
}

// Next finds how long it is until a delivery is free.
func (s queue) Next(ctx context.Context) (wait time.Duration, ok bool, err error) {
	var found nextDeliveryRow
	if err = s.ReadRowUnprepared(ctx, "find the next delivery", &found, s.store.dialect.nextDelivery(s.Level())); err != nil {
		return 0, false, err
	}
	if !found.FreeAt.Valid && found.Seen == firstDeliveries {
		err = s.ReadRow(ctx, "find the next delivery of an active tenant", &found.FreeAt, `SELECT min(free_at) FROM (`+s.store.dialect.Owners+`) AS f`, int(s.Level()))
	}
	return found.FreeAt.V.Sub(found.Now.Time), found.FreeAt.Valid, err
}

func (s queue) clock(ctx context.Context, query string) (time.Time, error) {
	var now core.Instant
	err := s.ReadRow(ctx, "read the clock", &now, query)
	return now.Time, err
}

// dueInstant is an instant at which a row is due. One that cannot be read has passed: a
// claim finds the row, and puts it off.
type dueInstant struct{ time.Time }

// Scan reads what the driver has.
func (i *dueInstant) Scan(value any) error {
	var at core.Instant
	if at.Scan(value) != nil {
		at.Time = time.Unix(0, 0).UTC()
	}
	i.Time = at.Time
	return nil
}
