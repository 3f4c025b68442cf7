package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// endpointsWithPending finds the endpoints with a pending delivery by leaping through
// the index, so that it costs as much as there are, however many deliveries each has.
// From an endpoint it goes to the tenant's next one, from the last one (NULL) to the
// next tenant, and there from in front of all (the empty text) to the first. A single
// recursion is one whose size PostgreSQL does not overrate, or it would compile it.
const endpointsWithPending = `pending (tenant_id, endpoint_id) AS (
		SELECT CAST('' AS text), CAST(NULL AS text)
		UNION ALL
		SELECT CASE WHEN p.endpoint_id IS NOT NULL THEN p.tenant_id ELSE (SELECT d.tenant_id FROM webhook_deliveries d
				WHERE d.status = 'pending' AND d.tenant_id > p.tenant_id ORDER BY d.tenant_id, d.endpoint_id LIMIT 1) END,
			CASE WHEN p.endpoint_id IS NULL THEN '' ELSE (SELECT d.endpoint_id FROM webhook_deliveries d
				WHERE d.status = 'pending' AND d.tenant_id = p.tenant_id AND d.endpoint_id > p.endpoint_id ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1) END
		FROM pending p WHERE p.tenant_id IS NOT NULL
	)`

// foremostDeliveries selects, of the endpoints in pending, the deliveries that can be
// lent, in the order of their turns. :now, :bound (of an endpoint) and :limit stand for
// its parameters. CROSS JOIN keeps SQLite from beginning with the deliveries.
func (d Dialect) foremostDeliveries() string {
	return `counted AS (
		SELECT p.tenant_id, p.endpoint_id, (SELECT count(*) FROM webhook_deliveries l
			WHERE l.tenant_id = p.tenant_id AND l.endpoint_id = p.endpoint_id AND l.status = 'pending' AND l.leased_until > :now) AS leased
		FROM pending p WHERE p.tenant_id IS NOT NULL AND p.endpoint_id <> ''
	), placed AS (
		SELECT d.tenant_id, d.endpoint_id, d.id, d.next_attempt_at, c.leased,
			row_number() OVER (PARTITION BY d.tenant_id, d.endpoint_id ORDER BY d.next_attempt_at, d.id) AS place
		FROM counted c CROSS JOIN webhook_deliveries d WHERE d.tenant_id = c.tenant_id AND d.id ` + d.AmongFirst(
		`SELECT f.id FROM webhook_deliveries f
			WHERE f.tenant_id = c.tenant_id AND f.endpoint_id = c.endpoint_id AND f.status = 'pending' AND f.next_attempt_at <= :now
				AND coalesce(f.leased_until, f.next_attempt_at) <= :now
			ORDER BY f.next_attempt_at, f.id LIMIT :bound`) + `
	), turns AS (
		SELECT tenant_id, endpoint_id, id, next_attempt_at, row_number() OVER (PARTITION BY tenant_id ORDER BY next_attempt_at, id) AS turn
		FROM placed WHERE place + leased <= :bound
	), foremost AS (
		SELECT tenant_id, endpoint_id, id, turn FROM turns ORDER BY turn, next_attempt_at, id LIMIT :limit
	)`
}

// Claim lends deliveries. Where units run at the same time, it first takes hold of the
// endpoints that have a turn, and then looks again: only then it knows of all leases
// that others gave, so that the bound of an endpoint holds.
func (s webhookDeliveries) Claim(ctx context.Context, c outbound.DeliveryClaim) ([]outbound.DueDelivery, error) {
	rows, err := s.due(ctx, c)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	keys := make([]keyRow, len(rows))
	for i := range rows {
		rows[i].LeasedUntil = &c.Until
		keys[i] = keyRow{rows[i].Tenant, rows[i].ID}
	}
	table, parameter, err := s.keys(keys)
	if err != nil {
		return nil, s.spoil(err)
	}
	if _, err = s.exec(ctx, "lend deliveries", `UPDATE webhook_deliveries AS d SET leased_until = $2 FROM `+table+`
		WHERE d.tenant_id = r.tenant_id AND d.id = r.id`, parameter, c.Until); err != nil {
		return nil, err
	}
	return s.withAll(ctx, rows)
}

// due holds the deliveries that are lent, in order.
func (s webhookDeliveries) due(ctx context.Context, c outbound.DeliveryClaim) (rows []deliveryRow, err error) {
	dialect := s.store.dialect
	pending, parameters := endpointsWithPending, []any{c.Now, c.PerEndpoint, c.Limit}
	placeholders := strings.NewReplacer(":now", "$1", ":bound", "$2", ":limit", "$3")
	if dialect.HoldEndpoint != "" {
		var held []keyRow
		err := s.list(ctx, "hold the endpoints of due deliveries", &held, placeholders.Replace(`WITH RECURSIVE `+pending+`, `+dialect.foremostDeliveries()+`,
			concerned AS MATERIALIZED (SELECT DISTINCT tenant_id, endpoint_id FROM foremost)
			SELECT tenant_id, endpoint_id AS id FROM concerned WHERE `)+dialect.HoldEndpoint, parameters...)
		if err != nil || len(held) == 0 {
			return nil, err
		}
		table, keys, err := s.keys(held)
		if err != nil {
			return nil, s.spoil(err)
		}
		pending, parameters = `pending AS (SELECT r.tenant_id, r.id AS endpoint_id FROM `+table+`)`, append([]any{keys}, parameters...)
		placeholders = strings.NewReplacer(":now", "$2", ":bound", "$3", ":limit", "$4")
	}
	const free = `d.status = 'pending' AND d.next_attempt_at <= :now AND coalesce(d.leased_until, d.next_attempt_at) <= :now`
	err = s.list(ctx, "claim due deliveries", &rows, `WITH RECURSIVE `+pending+placeholders.Replace(`, `+dialect.foremostDeliveries()+`
		SELECT `+deliveryColumnsOfD+` FROM foremost t CROSS JOIN webhook_deliveries d
		WHERE d.tenant_id = t.tenant_id AND d.id = t.id AND `+free+` ORDER BY t.turn, d.next_attempt_at, d.id`)+dialect.ClaimRows, parameters...)
	return rows, err
}

// withAll joins deliveries with their endpoints and their events. One of which either
// was deleted meanwhile is gone as well.
func (s webhookDeliveries) withAll(ctx context.Context, rows []deliveryRow) ([]outbound.DueDelivery, error) {
	endpoints, err := s.endpointsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	events, err := s.eventsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	due := make([]outbound.DueDelivery, 0, len(rows))
	for _, row := range rows {
		d, err := row.restore()
		if err != nil {
			return nil, err
		}
		to, e := endpoints[keyRow{row.Tenant, row.Endpoint}], events[keyRow{row.Tenant, row.Event}]
		if to != nil && e != nil {
			due = append(due, outbound.DueDelivery{Delivery: d, Endpoint: to, Event: e})
		}
	}
	return due, nil
}

func (s webhookDeliveries) endpointsOf(ctx context.Context, rows []deliveryRow) (map[keyRow]*event.Endpoint, error) {
	table, parameter, err := s.distinct(rows, func(row deliveryRow) string { return row.Endpoint })
	if err != nil {
		return nil, err
	}
	var found []webhookEndpointRow
	err = s.list(ctx, "get the endpoints of due deliveries", &found, `SELECT `+webhookEndpointColumns+` FROM webhook_endpoints
		WHERE (tenant_id, id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`, parameter)
	if err != nil {
		return nil, err
	}
	endpoints := make(map[keyRow]*event.Endpoint, len(found))
	for _, row := range found {
		if endpoints[keyRow{row.Tenant, row.ID}], err = row.restore(); err != nil {
			return nil, err
		}
	}
	return endpoints, nil
}

func (s webhookDeliveries) eventsOf(ctx context.Context, rows []deliveryRow) (map[keyRow]*event.Event, error) {
	table, parameter, err := s.distinct(rows, func(row deliveryRow) string { return row.Event })
	if err != nil {
		return nil, err
	}
	var found []webhookEventRow
	err = s.list(ctx, "get the events of due deliveries", &found, `SELECT `+webhookEventColumns+` FROM webhook_events e
		WHERE (e.tenant_id, e.id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`, parameter)
	if err != nil {
		return nil, err
	}
	events := make(map[keyRow]*event.Event, len(found))
	for _, row := range found {
		events[keyRow{row.Tenant, row.ID}] = row.restore()
	}
	return events, nil
}

// distinct is the table expression over the keys of what deliveries refer to.
func (s webhookDeliveries) distinct(rows []deliveryRow, id func(deliveryRow) string) (table, parameter string, err error) {
	known := make(map[keyRow]bool, len(rows))
	var keys []keyRow
	for _, row := range rows {
		if key := (keyRow{row.Tenant, id(row)}); !known[key] {
			known[key] = true
			keys = append(keys, key)
		}
	}
	return s.keys(keys)
}

// Next finds the earliest time at which something can be lent.
func (s webhookDeliveries) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	err = s.get(ctx, "find the next delivery", &at, `SELECT free_at FROM webhook_deliveries WHERE status = 'pending' ORDER BY free_at LIMIT 1`)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, err
	default:
		return at.UTC(), true, nil
	}
}
