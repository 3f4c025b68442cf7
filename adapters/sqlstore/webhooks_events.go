package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type webhookEvents struct{ *unit }

var _ outbound.EventRepository = webhookEvents{}

const webhookEventColumns = `e.id, e.tenant_id, e.sub_tenant_id, e.type, e.happened_at, e.data`

type webhookEventRow struct {
	ID         string    `db:"id"`
	Tenant     string    `db:"tenant_id"`
	SubTenant  string    `db:"sub_tenant_id"`
	Type       string    `db:"type"`
	HappenedAt time.Time `db:"happened_at"`
	Data       string    `db:"data"`
}

// Targets are where the columns go. What the fan-out of an event goes by comes first, so
// that it is known even when the rest cannot be read.
func (row *webhookEventRow) Targets() []any {
	return []any{&row.ID, &row.Tenant, &row.SubTenant, &row.Type, &row.HappenedAt, &row.Data}
}

func (row *webhookEventRow) key() keyRow { return keyRow{row.Tenant, row.ID} }

func (row webhookEventRow) restore() *event.Event {
	return event.Restore(event.State{
		ID: event.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Type: event.Type(row.Type),
		At: row.HappenedAt.UTC(), Data: domain.RestoreDocument(row.Data),
	})
}

// newEventRow is a row of [Dialect.Rows].
type newEventRow struct {
	Tenant     string `json:"tenant_id"`
	ID         string `json:"id"`
	SubTenant  string `json:"sub_tenant_id"`
	Type       string `json:"type"`
	HappenedAt string `json:"happened_at"`
	Data       string `json:"data"`
}

// Append adds events.
func (s webhookEvents) Append(ctx context.Context, events ...*event.Event) error {
	return s.append(ctx, ``, events)
}

// Tell adds those that an endpoint may want.
func (s webhookEvents) Tell(ctx context.Context, events ...*event.Event) error {
	return s.append(ctx, ` WHERE EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.tenant_id = r.tenant_id AND e.is_active)`, events)
}

// append adds the events that a condition holds for, all in one statement.
func (s webhookEvents) append(ctx context.Context, condition string, events []*event.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]newEventRow, len(events))
	for i, e := range events {
		st := e.State()
		rows[i] = newEventRow{
			Tenant: string(st.Tenant), ID: string(st.ID), SubTenant: string(st.SubTenant), Type: string(st.Type),
			HappenedAt: st.At.UTC().Format(rowTime), Data: st.Data.String(),
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.fail(fmt.Errorf("encode events: %w", err))
	}
	added, err := s.exec(ctx, "append events", `INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits)
		SELECT r.tenant_id, r.id, r.sub_tenant_id, r.type, r.happened_at, r.data, true FROM `+s.store.dialect.Rows(1,
		Column{Name: "tenant_id"}, Column{Name: "id"}, Column{Name: "sub_tenant_id"}, Column{Name: "type"},
		Column{Name: "happened_at", Time: true}, Column{Name: "data"})+condition, string(text))
	s.eventful = s.eventful || added > 0
	return err
}

// Get reads an event.
func (s webhookEvents) Get(ctx context.Context, scope tenant.Scope, id event.ID) (*event.Event, error) {
	in, args := within(scope, bySubTenant, string(id))
	var row webhookEventRow
	err := s.get(ctx, "get event", &row, `SELECT `+webhookEventColumns+` FROM webhook_events e WHERE e.tenant_id = $1 AND e.id = $2`+in, args...)
	if err != nil {
		return nil, missing(err, "event_not_found", "There is no such event.")
	}
	return row.restore(), nil
}

// waitingReserve is how many times as many events are chosen from as are asked for, so that
// some are left where other units have the first ones.
const waitingReserve = 4

// Waiting claims events that wait.
func (s webhookEvents) Waiting(ctx context.Context, limit int, except ...outbound.EventKey) ([]*event.Event, error) {
	if err := s.planFreshly(ctx); err != nil {
		return nil, err
	}
	keys := make([]keyRow, len(except))
	for i, k := range except {
		keys[i] = keyRow{string(k.Tenant), string(k.Event)}
	}
	_, excepted, err := s.keys(keys)
	if err != nil {
		return nil, s.fail(err)
	}
	rows, err := listEach[webhookEventRow](ctx, s.unit, "claim waiting events", s.store.dialect.Webhooks.Waiting, excepted, limit, waitingReserve*limit, int(s.store.Level))
	if err != nil {
		return nil, err
	}
	found := make([]*event.Event, len(rows))
	for i, one := range rows {
		found[i] = one.row.restore()
	}
	return found, nil
}

// keyRow is a row of [Dialect.Rows] that names a record.
type keyRow struct {
	Tenant string `json:"tenant_id" db:"tenant_id"`
	ID     string `json:"id" db:"id"`
}

// keys is the table expression over records' keys, and the parameter that holds them.
func (u *unit) keys(rows []keyRow) (table, parameter string, err error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", "", fmt.Errorf("encode keys: %w", err)
	}
	return u.store.dialect.Rows(1, Column{Name: "tenant_id"}, Column{Name: "id"}), string(text), nil
}

// Settle marks events, all in one statement.
func (s webhookEvents) Settle(ctx context.Context, events ...*event.Event) error {
	if len(events) == 0 {
		return nil
	}
	keys := make([]keyRow, len(events))
	for i, e := range events {
		keys[i] = keyRow{string(e.Tenant()), string(e.ID())}
	}
	table, parameter, err := s.keys(keys)
	if err != nil {
		return s.fail(err)
	}
	_, err = s.exec(ctx, "settle events", `UPDATE webhook_events AS e SET waits = false FROM `+table+`
		WHERE e.tenant_id = r.tenant_id AND e.id = r.id AND e.waits`, parameter)
	return err
}

// Sweep removes old events; the schema's cascades remove their deliveries.
func (s webhookEvents) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.exec(ctx, "sweep events", `DELETE FROM webhook_events WHERE (tenant_id, id) IN (
			SELECT e.tenant_id, e.id FROM webhook_events e
			WHERE e.happened_at < $1 AND NOT e.waits AND NOT EXISTS (
				SELECT 1 FROM webhook_deliveries d JOIN tenants t ON t.id = d.tenant_id
				WHERE d.tenant_id = e.tenant_id AND d.event_id = e.id AND d.status = 'pending' AND t.status = 'active')
			ORDER BY e.happened_at LIMIT CAST($2 AS bigint))`, before, limit)
	return int(n), err
}
