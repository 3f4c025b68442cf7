package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

type webhookQueue struct{ *unit }

var _ outbound.DeliveryQueue = webhookQueue{}

// withAll joins deliveries with their endpoints and their events. One of which either
// was deleted meanwhile is gone as well.
func (s webhookQueue) withAll(ctx context.Context, rows []scannedRow[deliveryRow], now time.Time) ([]outbound.DueDelivery, error) {
	endpoints, err := s.endpointsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	events, err := s.eventsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	due := make([]outbound.DueDelivery, 0, len(rows))
	for _, one := range rows {
		row := &one.row
		to, okTo := endpoints[keyRow{row.Tenant, row.Endpoint}]
		e, okEvent := events[keyRow{row.Tenant, row.Event}]
		d, err := restoreRow(one, deliveryRow.restore)
		switch err = cmp.Or(err, to.unreadable, e.unreadable); {
		case err != nil:
			due = append(due, outbound.DueDelivery{Key: row.keyOf(), At: now, Unreadable: err, RetryAt: outbound.RetryAt(row.CreatedAt, now)})
		case okTo && okEvent:
			due = append(due, outbound.DueDelivery{Key: row.keyOf(), At: now, Delivery: d, Endpoint: to.value, Event: e.value})
		}
	}
	return due, nil
}

func (s webhookQueue) endpointsOf(ctx context.Context, rows []scannedRow[deliveryRow]) (map[keyRow]restored[*event.Endpoint], error) {
	keys := make([]keyRow, len(rows))
	for i, one := range rows {
		keys[i] = keyRow{one.row.Tenant, one.row.Endpoint}
	}
	return s.endpoints(ctx, "get the endpoints of due deliveries", keys, "")
}

// endpoints reads endpoints by their keys, which may repeat. The clause follows the
// query.
func (s webhookQueue) endpoints(ctx context.Context, what string, keys []keyRow, clause string) (map[keyRow]restored[*event.Endpoint], error) {
	table, parameter, err := s.keys(distinct(keys))
	if err != nil {
		return nil, err
	}
	found, err := listEach[webhookEndpointRow](ctx, s.unit, what, `SELECT `+webhookEndpointColumns+` FROM webhook_endpoints
		WHERE (tenant_id, id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`+clause, parameter)
	if err != nil {
		return nil, err
	}
	endpoints := make(map[keyRow]restored[*event.Endpoint], len(found))
	for _, one := range found {
		e, err := restoreRow(one, webhookEndpointRow.restore)
		endpoints[one.row.key()] = restored[*event.Endpoint]{e, err}
	}
	return endpoints, nil
}

func (s webhookQueue) eventsOf(ctx context.Context, rows []scannedRow[deliveryRow]) (map[keyRow]restored[*event.Event], error) {
	keys := make([]keyRow, len(rows))
	for i, one := range rows {
		keys[i] = keyRow{one.row.Tenant, one.row.Event}
	}
	table, parameter, err := s.keys(distinct(keys))
	if err != nil {
		return nil, err
	}
	found, err := listEach[webhookEventRow](ctx, s.unit, "get the events of due deliveries", `SELECT `+webhookEventColumns+` FROM webhook_events e
		WHERE (e.tenant_id, e.id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`, parameter)
	if err != nil {
		return nil, err
	}
	events := make(map[keyRow]restored[*event.Event], len(found))
	for _, one := range found {
		events[one.row.key()] = restored[*event.Event]{one.row.restore(), one.unreadable}
	}
	return events, nil
}

// distinct leaves out what repeats.
func distinct(keys []keyRow) []keyRow {
	known := make(map[keyRow]bool, len(keys))
	var all []keyRow
	for _, key := range keys {
		if !known[key] {
			known[key] = true
			all = append(all, key)
		}
	}
	return all
}

// inOrder is appended to the SELECT of records that the unit holds, so that no two units
// wait for each other.
func (u *unit) inOrder() string { return ` ORDER BY tenant_id, id` + u.forUpdate() }

// planFreshly has the statements that follow in the unit planned for the tables as they
// are.
func (u *unit) planFreshly(ctx context.Context) error {
	return u.prelude(ctx, u.store.dialect.PlanFreshly)
}

// prelude runs a statement that selects a number, for what else it does.
func (u *unit) prelude(ctx context.Context, statement string) error {
	if statement == "" || !u.writing {
		return nil
	}
	var number int
	return u.get(ctx, "set up the unit", &number, statement)
}

// Lock holds deliveries, their endpoints first, as every unit that holds both does.
func (s webhookQueue) Lock(ctx context.Context, of []outbound.DeliveryKey) ([]outbound.LockedDelivery, error) {
	if len(of) == 0 {
		return nil, nil
	}
	if err := s.planFreshly(ctx); err != nil {
		return nil, err
	}
	to, keys := make([]keyRow, len(of)), make([]keyRow, len(of))
	for i, k := range of {
		to[i], keys[i] = keyRow{string(k.Tenant), string(k.Endpoint)}, keyRow{string(k.Tenant), string(k.Delivery)}
	}
	endpoints, err := s.endpoints(ctx, "lock the endpoints of deliveries", to, s.inOrder())
	if err != nil {
		return nil, err
	}
	table, parameter, err := s.keys(distinct(keys))
	if err != nil {
		return nil, s.fail(err)
	}
	rows, err := listEach[deliveryRow](ctx, s.unit, "lock deliveries", `SELECT `+deliveryColumns+` FROM webhook_deliveries
		WHERE (tenant_id, id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`+s.inOrder(), parameter)
	if err != nil {
		return nil, err
	}
	locked := make([]outbound.LockedDelivery, 0, len(rows))
	for _, one := range rows {
		row := &one.row
		e, ok := endpoints[keyRow{row.Tenant, row.Endpoint}]
		d, err := restoreRow(one, deliveryRow.restore)
		switch err = cmp.Or(err, e.unreadable); {
		case err != nil:
			locked = append(locked, outbound.LockedDelivery{Key: row.keyOf(), Unreadable: err})
		case ok:
			locked = append(locked, outbound.LockedDelivery{Key: row.keyOf(), Delivery: d, Endpoint: e.value})
		}
	}
	return locked, nil
}

// Postpone gives a delivery back. It writes only the columns that a claim goes by.
func (s webhookQueue) Postpone(ctx context.Context, of outbound.DeliveryKey, attempt int, since time.Time) error {
	now, err := s.clock(ctx, `SELECT `+s.store.dialect.Clock)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "postpone a delivery", `UPDATE webhook_deliveries SET leased_until = NULL, next_attempt_at = $1
		WHERE tenant_id = $2 AND id = $3 AND endpoint_id = $4 AND status = 'pending' AND attempted < $5`,
		outbound.RetryAt(since, now), string(of.Tenant), string(of.Delivery), string(of.Endpoint), attempt)
	return err
}

// mutableColumns are those of a delivery that change.
var mutableColumns = map[string]bool{
	"status": true, "attempts": true, "attempted": true, "next_attempt_at": true, "is_manual": true, "is_urgent": true, "leased_until": true, "delivered_at": true,
	"reason": true, "updated_at": true,
}

// recordDeliveries updates deliveries, all in one statement.
func (d Dialect) recordDeliveries() string {
	var columns []Column
	var set []string
	for _, c := range newDeliveryColumns {
		if columns = append(columns, c.Column); mutableColumns[c.Name] {
			set = append(set, c.Name+" = "+d.valueOf(c))
		}
	}
	return `UPDATE webhook_deliveries AS d SET ` + strings.Join(set, ", ") + `, revision = d.revision + 1 FROM ` + d.Rows(1, columns...) + `
		WHERE d.tenant_id = r.tenant_id AND d.id = r.id AND d.revision = CAST(r.revision AS bigint)`
}

// Record writes deliveries in one statement, and the few endpoints that change.
func (s webhookQueue) Record(ctx context.Context, deliveries []*event.Delivery, endpoints []*event.Endpoint) error {
	if len(deliveries) > 0 {
		rows := make([]newDeliveryRow, len(deliveries))
		for i, d := range deliveries {
			var err error
			if rows[i], err = newDelivery(d.State()); err != nil {
				return s.fail(err)
			}
		}
		text, err := json.Marshal(rows)
		if err != nil {
			return s.fail(fmt.Errorf("encode deliveries: %w", err))
		}
		n, err := s.exec(ctx, "record deliveries", s.store.dialect.recordDeliveries(), string(text))
		if err != nil {
			return err
		}
		if n != int64(len(deliveries)) {
			return s.fail(domain.Fail(domain.Conflict, "stale_revision", "%d of %d deliveries were changed or deleted by somebody else in the meantime.",
				int64(len(deliveries))-n, len(deliveries)))
		}
		for _, d := range deliveries {
			d.Saved()
		}
	}
	for _, e := range endpoints {
		if err := webhookEndpoints(s).Update(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
