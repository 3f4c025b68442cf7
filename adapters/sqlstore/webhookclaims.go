package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// deliveryOwners finds the active tenants with pending deliveries by leaping through the
// index, and when the first of each can be lent: it costs as much as there are tenants,
// however many deliveries each has.
func (d Dialect) deliveryOwners() string {
	const active = `SELECT o.tenant_id, o.free_at FROM owners o JOIN tenants t ON t.id = o.tenant_id WHERE t.status = 'active'`
	if d.Lateral {
		const first = `SELECT d.tenant_id, d.free_at FROM webhook_deliveries d WHERE d.status = 'pending' AND d.free_at IS NOT NULL`
		return `WITH RECURSIVE owners (tenant_id, free_at) AS (
			(` + first + ` ORDER BY d.tenant_id, d.free_at LIMIT 1)
			UNION ALL
			SELECT n.tenant_id, n.free_at FROM owners o
			CROSS JOIN LATERAL (` + first + ` AND d.tenant_id > o.tenant_id ORDER BY d.tenant_id, d.free_at LIMIT 1) AS n
		) ` + active
	}
	return `WITH RECURSIVE names (tenant_id) AS (
			SELECT min(d.tenant_id) FROM webhook_deliveries d WHERE d.status = 'pending' AND d.free_at IS NOT NULL
			UNION ALL
			SELECT (SELECT min(d.tenant_id) FROM webhook_deliveries d WHERE d.status = 'pending' AND d.free_at IS NOT NULL AND d.tenant_id > n.tenant_id)
			FROM names n WHERE n.tenant_id IS NOT NULL
		), owners AS (
			SELECT n.tenant_id, (SELECT min(d.free_at) FROM webhook_deliveries d WHERE d.tenant_id = n.tenant_id AND d.status = 'pending' AND d.free_at IS NOT NULL) AS free_at
			FROM names n WHERE n.tenant_id IS NOT NULL
		) ` + active
}

// dueOwners selects the tenants with deliveries that are due.
func (d Dialect) dueOwners() string { return d.deliveryOwners() + ` AND o.free_at <= $1` }

// endpointsWithPending finds the endpoints with a pending delivery of the tenants in
// :owners by leaping through the index. There is one recursion in a statement, or
// PostgreSQL would overrate how much comes of it, and compile it.
const endpointsWithPending = `pending (tenant_id, endpoint_id) AS (
		SELECT r.tenant_id, (SELECT d.endpoint_id FROM webhook_deliveries d
			WHERE d.status = 'pending' AND d.tenant_id = r.tenant_id ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1)
		FROM :owners
		UNION ALL
		SELECT p.tenant_id, (SELECT d.endpoint_id FROM webhook_deliveries d
			WHERE d.status = 'pending' AND d.tenant_id = p.tenant_id AND d.endpoint_id > p.endpoint_id ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1)
		FROM pending p WHERE p.endpoint_id IS NOT NULL
	)`

// firstDue are, for each row of bounded c, the deliveries d that can be lent, as many as
// an endpoint gets. Which index is used must not be left to statistics, which a new table
// does not have. CROSS JOIN keeps SQLite from beginning with the deliveries.
func (d Dialect) firstDue() string {
	const of = ` AND f.endpoint_id = c.endpoint_id`
	if d.Lateral {
		return `bounded c CROSS JOIN LATERAL (SELECT f.id, f.next_attempt_at, f.is_urgent FROM webhook_deliveries f` + canBeLent("c", of, ":most") + `) AS d`
	}
	return `bounded c CROSS JOIN webhook_deliveries d WHERE d.tenant_id = c.tenant_id AND d.id IN (SELECT f.id FROM webhook_deliveries f` + canBeLent("c", of, ":most") + `)`
}

// urgentDue are the urgent deliveries d that can be lent, of the tenants r in :owners, as
// many of each as are wanted. They are found by an index of their own, which holds few.
func (d Dialect) urgentDue() string {
	const of = ` AND f.is_urgent`
	if d.Lateral {
		return `:owners CROSS JOIN LATERAL (SELECT f.id, f.endpoint_id, f.next_attempt_at FROM webhook_deliveries f` + canBeLent("r", of, ":wanted") + `) AS d`
	}
	return `:owners CROSS JOIN webhook_deliveries d WHERE d.tenant_id = r.tenant_id AND d.id IN (SELECT f.id FROM webhook_deliveries f INDEXED BY webhook_deliveries_urgent` +
		canBeLent("r", of, ":wanted") + `)`
}

// canBeLent selects the first deliveries f that can be lent, of the tenant of a row.
func canBeLent(row, of, most string) string {
	return ` WHERE f.tenant_id = ` + row + `.tenant_id` + of + `
		AND f.status = 'pending' AND f.next_attempt_at <= :now AND coalesce(f.leased_until, f.next_attempt_at) <= :now ORDER BY f.next_attempt_at, f.id LIMIT ` + most
}

// claimDeliveries selects the deliveries to lend, in the order of their turns. That one
// can still be lent is asked in a way that no index answers, so that its key finds it.
func (d Dialect) claimDeliveries() string {
	return strings.NewReplacer(":owners", d.Rows(Column{Name: "tenant_id"}),
		":now", "$2", ":limit", "$3", ":spare", "$4", ":failing", "$5", ":owner", "$6", ":bound", "$7", ":most", numbered(7), ":wanted", numbered(3)).Replace(
		`WITH RECURSIVE `+endpointsWithPending+`, served AS (
		SELECT p.tenant_id, p.endpoint_id, e.is_active AND e.failing_since IS NOT NULL AS fails
		FROM pending p JOIN webhook_endpoints e ON e.tenant_id = p.tenant_id AND e.id = p.endpoint_id
	), counted AS MATERIALIZED (
		SELECT s.tenant_id, s.endpoint_id, s.fails, (SELECT count(*) FROM webhook_deliveries l
			WHERE l.tenant_id = s.tenant_id AND l.endpoint_id = s.endpoint_id AND l.status = 'pending' AND l.leased_until > :now) AS leased
		FROM served s
	), bounded AS (
		SELECT tenant_id, endpoint_id, fails, leased, sum(leased) OVER (PARTITION BY tenant_id) AS busy,
			CASE WHEN fails THEN 1 ELSE CAST(:bound AS integer) END - leased AS places
		FROM counted
	), urgent AS (
		SELECT r.tenant_id, d.endpoint_id, d.id, d.next_attempt_at FROM `+d.urgentDue()+`
	), first AS (
		SELECT c.tenant_id, c.endpoint_id, d.id, d.next_attempt_at, d.is_urgent, c.fails, c.busy, c.places FROM `+d.firstDue()+`
		UNION
		SELECT c.tenant_id, c.endpoint_id, u.id, u.next_attempt_at, true, c.fails, c.busy, c.places
		FROM urgent u JOIN bounded c ON c.tenant_id = u.tenant_id AND c.endpoint_id = u.endpoint_id
	), placed AS (
		SELECT tenant_id, id, next_attempt_at, is_urgent, fails, busy, places,
			row_number() OVER (PARTITION BY tenant_id, endpoint_id ORDER BY is_urgent DESC, next_attempt_at, id) AS place
		FROM first
	), turns AS (
		SELECT tenant_id, id, next_attempt_at, fails, busy + row_number() OVER (PARTITION BY tenant_id ORDER BY is_urgent DESC, next_attempt_at, id) AS turn
		FROM placed WHERE place <= places
	), lanes AS (
		SELECT tenant_id, id, next_attempt_at, fails, turn, row_number() OVER (PARTITION BY fails ORDER BY turn, next_attempt_at, id) AS lane
		FROM turns WHERE turn <= CAST(:owner AS integer)
	), ranks AS (
		SELECT tenant_id, id, next_attempt_at, turn, row_number() OVER (ORDER BY turn, next_attempt_at, id) AS rank
		FROM lanes WHERE NOT fails OR lane <= CAST(:failing AS integer)
	), foremost AS (
		SELECT tenant_id, id, rank FROM ranks
		WHERE rank <= CAST(:limit AS integer) AND (turn = 1 OR rank <= CAST(:limit AS integer) - CAST(:spare AS integer))
	)
	SELECT `+deliveryColumnsOfD+` FROM foremost t CROSS JOIN webhook_deliveries d
	WHERE d.tenant_id = t.tenant_id AND d.id = t.id AND (d.free_at <= :now) IS TRUE ORDER BY t.rank`) + d.ClaimRows
}

// ownerRow is a row of [Dialect.Rows] that names a tenant with deliveries.
type ownerRow struct {
	Tenant string     `json:"tenant_id" db:"tenant_id"`
	FreeAt dueInstant `json:"-" db:"free_at"` // when the first of them can be lent
}

// Claim lends deliveries. Units that claim do so one after another: only then each knows
// of all leases that the others gave, so that the bounds hold.
func (s webhookQueue) Claim(ctx context.Context, c outbound.DeliveryClaim) ([]outbound.DueDelivery, error) {
	dialect := s.store.dialect
	if err := s.prelude(ctx, dialect.ClaimDeliveries); err != nil {
		return nil, err
	}
	var owners []ownerRow
	if err := s.list(ctx, "find the tenants with due deliveries", &owners, dialect.dueOwners(), c.Now); err != nil || len(owners) == 0 {
		return nil, err
	}
	names, err := json.Marshal(owners)
	if err != nil {
		return nil, s.spoil(fmt.Errorf("encode the tenants with due deliveries: %w", err))
	}
	rows, err := listEach[deliveryRow](ctx, s.unit, "claim due deliveries", dialect.claimDeliveries(),
		string(names), c.Now, c.Limit, c.Spare, c.Failing, c.PerTenant, c.PerEndpoint)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	keys := make([]keyRow, len(rows))
	for i := range rows {
		rows[i].row.LeasedUntil = &c.Until
		keys[i] = rows[i].row.key()
	}
	table, parameter, err := s.keys(keys)
	if err != nil {
		return nil, s.spoil(err)
	}
	if _, err = s.exec(ctx, "lend deliveries", `UPDATE webhook_deliveries AS d SET leased_until = $2 FROM `+table+`
		WHERE d.tenant_id = r.tenant_id AND d.id = r.id`, parameter, c.Until); err != nil {
		return nil, err
	}
	due, err := s.withAll(ctx, rows, c.Now)
	if err != nil {
		return nil, err
	}
	return due, s.putOffUnreadable(ctx, due)
}

// putOffRow is a row of [Dialect.Rows].
type putOffRow struct {
	Tenant string `json:"tenant_id"`
	ID     string `json:"id"`
	Until  string `json:"until"`
}

// putOffUnreadable gives back what cannot be sent. A lease would count for the bounds of
// its endpoint and its tenant, and keep what can be sent waiting.
func (s webhookQueue) putOffUnreadable(ctx context.Context, due []outbound.DueDelivery) error {
	var rows []putOffRow
	for _, d := range due {
		if d.Unreadable != nil {
			rows = append(rows, putOffRow{string(d.Key.Tenant), string(d.Key.Delivery), d.RetryAt.UTC().Format(rowTime)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.spoil(fmt.Errorf("encode deliveries: %w", err))
	}
	_, err = s.exec(ctx, "put off deliveries", `UPDATE webhook_deliveries AS d SET leased_until = NULL, next_attempt_at = r.until FROM `+
		s.store.dialect.Rows(Column{Name: "tenant_id"}, Column{Name: "id"}, Column{Name: "until", Time: true})+`
		WHERE d.tenant_id = r.tenant_id AND d.id = r.id`, string(text))
	return err
}

// firstDeliveries is how many pending deliveries are looked at for the next one before
// those of each tenant are.
const firstDeliveries = 50

// nextDelivery selects when the first delivery of an active tenant can be lent, null where
// it is not among the first of all, and how many those are. Deliveries of suspended tenants
// may stand before it.
var nextDelivery = `WITH firsts AS MATERIALIZED (
		SELECT d.tenant_id, d.free_at FROM webhook_deliveries d WHERE d.status = 'pending' ORDER BY d.free_at LIMIT ` + strconv.Itoa(firstDeliveries) + `
	) SELECT (SELECT count(*) FROM firsts) AS seen,
		(SELECT min(f.free_at) FROM firsts f JOIN tenants t ON t.id = f.tenant_id WHERE t.status = 'active') AS free_at`

// nextDeliveryRow is what nextDelivery finds.
type nextDeliveryRow struct {
	Seen   int                  `db:"seen"`
	FreeAt sql.Null[dueInstant] `db:"free_at"`
}

// Next finds the earliest time at which something can be lent.
func (s webhookQueue) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	var found nextDeliveryRow
	if err = s.getAnew(ctx, "find the next delivery", &found, nextDelivery); err != nil {
		return time.Time{}, false, err
	}
	if found.FreeAt.Valid || found.Seen < firstDeliveries {
		return found.FreeAt.V.Time, found.FreeAt.Valid, nil
	}
	var first dueInstant
	err = s.get(ctx, "find the next delivery of an active tenant", &first,
		`SELECT free_at FROM (`+s.store.dialect.deliveryOwners()+`) AS f ORDER BY free_at LIMIT 1`)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	return first.Time, err == nil, err
}
