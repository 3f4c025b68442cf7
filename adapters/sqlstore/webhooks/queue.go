package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

type queue struct{ *unit }

var _ outbound.DeliveryQueue = queue{}

// withAll joins deliveries with their endpoints and their events. One of which either
// was deleted meanwhile is gone as well.
func (s queue) withAll(ctx context.Context, rows []scannedRow[deliveryRow], now time.Time) ([]outbound.DueDelivery, error) {
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
		to, okTo := endpoints[core.KeyRow{Tenant: row.Tenant, ID: row.Endpoint}]
		e, okEvent := events[core.KeyRow{Tenant: row.Tenant, ID: row.Event}]
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

func (s queue) endpointsOf(ctx context.Context, rows []scannedRow[deliveryRow]) (map[core.KeyRow]restored[*event.Endpoint], error) {
	keys := make([]core.KeyRow, len(rows))
	for i, one := range rows {
		keys[i] = core.KeyRow{Tenant: one.row.Tenant, ID: one.row.Endpoint}
	}
	return s.endpoints(ctx, "get the endpoints of due deliveries", keys, "")
}

// endpoints reads endpoints by their keys, which may repeat. The clause follows the
// query.
func (s queue) endpoints(ctx context.Context, what string, keys []core.KeyRow, clause string) (map[core.KeyRow]restored[*event.Endpoint], error) {
	table, parameter, err := s.store.dialect.Keys(distinct(keys))
	if err != nil {
		return nil, err
	}
	found, err := listEach[endpointRow](ctx, s.unit, what, `SELECT `+endpointColumns+` FROM webhook_endpoints
		WHERE (tenant_id, id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`+clause, parameter)
	if err != nil {
		return nil, err
	}
	endpoints := make(map[core.KeyRow]restored[*event.Endpoint], len(found))
	for _, one := range found {
		e, err := restoreRow(one, func(row endpointRow) (*event.Endpoint, error) { return s.restoreEndpoint(ctx, row) })
		endpoints[one.row.key()] = restored[*event.Endpoint]{e, err}
	}
	return endpoints, nil
}

func (s queue) eventsOf(ctx context.Context, rows []scannedRow[deliveryRow]) (map[core.KeyRow]restored[*event.Event], error) {
	keys := make([]core.KeyRow, len(rows))
	for i, one := range rows {
		keys[i] = core.KeyRow{Tenant: one.row.Tenant, ID: one.row.Event}
	}
	table, parameter, err := s.store.dialect.Keys(distinct(keys))
	if err != nil {
		return nil, err
	}
	found, err := listEach[eventRow](ctx, s.unit, "get the events of due deliveries", `SELECT `+eventColumns+` FROM webhook_events e
		WHERE (e.tenant_id, e.id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`, parameter)
	if err != nil {
		return nil, err
	}
	events := make(map[core.KeyRow]restored[*event.Event], len(found))
	for _, one := range found {
		events[one.row.key()] = restored[*event.Event]{one.row.restore(), one.unreadable}
	}
	return events, nil
}

// distinct leaves out what repeats.
func distinct(keys []core.KeyRow) []core.KeyRow {
	known := make(map[core.KeyRow]bool, len(keys))
	var all []core.KeyRow
	for _, key := range keys {
		if !known[key] {
			known[key] = true
			all = append(all, key)
		}
	}
	return all
}

// Lock holds deliveries, their endpoints first, as every unit that holds both does.
func (s queue) Lock(ctx context.Context, of []outbound.DeliveryKey) ([]outbound.LockedDelivery, error) {
	if len(of) == 0 {
		return nil, nil
	}
	if err := s.planFreshly(ctx); err != nil {
		return nil, err
	}
	to, keys := make([]core.KeyRow, len(of)), make([]core.KeyRow, len(of))
	for i, k := range of {
		to[i], keys[i] = core.KeyRow{Tenant: string(k.Tenant), ID: string(k.Endpoint)}, core.KeyRow{Tenant: string(k.Tenant), ID: string(k.Delivery)}
	}
	endpoints, err := s.endpoints(ctx, "lock the endpoints of deliveries", to, s.inOrder())
	if err != nil {
		return nil, err
	}
	table, parameter, err := s.store.dialect.Keys(distinct(keys))
	if err != nil {
		return nil, s.Fail(err)
	}
	rows, err := listEach[deliveryRow](ctx, s.unit, "lock deliveries", `SELECT `+deliveryColumns+` FROM webhook_deliveries
		WHERE (tenant_id, id) IN (SELECT r.tenant_id, r.id FROM `+table+`)`+s.inOrder(), parameter)
	if err != nil {
		return nil, err
	}
	locked := make([]outbound.LockedDelivery, 0, len(rows))
	for _, one := range rows {
		row := &one.row
		e, ok := endpoints[core.KeyRow{Tenant: row.Tenant, ID: row.Endpoint}]
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
func (s queue) Postpone(ctx context.Context, of outbound.DeliveryKey, attempt int, since time.Time) error {
	now, err := s.clock(ctx, `SELECT `+s.store.dialect.Clock)
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "postpone a delivery", `UPDATE webhook_deliveries SET leased_until = NULL, next_attempt_at = $1
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
func (d dialect) recordDeliveries() string {
	var columns []core.Column
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
func (s queue) Record(ctx context.Context, deliveries []*event.Delivery, endpoints []*event.Endpoint) error {
	if len(deliveries) > 0 {
		rows := make([]newDeliveryRow, len(deliveries))
		for i, d := range deliveries {
			var err error
			if rows[i], err = newDelivery(d.State()); err != nil {
				return s.Fail(err)
			}
		}
		text, err := json.Marshal(rows)
		if err != nil {
			return s.Fail(fmt.Errorf("encode deliveries: %w", err))
		}
		n, err := s.Exec(ctx, "record deliveries", s.store.dialect.recordDeliveries(), string(text))
		if err != nil {
			return err
		}
		if n != int64(len(deliveries)) {
			return s.Fail(domain.Fail(domain.Conflict, "stale_revision", "%d of %d deliveries were changed or deleted by somebody else in the meantime.",
				int64(len(deliveries))-n, len(deliveries)))
		}
		for _, d := range deliveries {
			d.Saved()
		}
		s.countDeliveries(deliveries)
		if err := s.noteDeliveries(ctx, change.Changed, deliveries); err != nil {
			return err
		}
	}
	for _, e := range endpoints {
		if err := endpointRepository(s).Update(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
