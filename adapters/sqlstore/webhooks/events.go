package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type eventRepository struct{ *unit }

var _ outbound.EventRepository = eventRepository{}

const eventColumns = `e.id, e.tenant_id, e.sub_tenant_id, e.type, e.of_child, e.happened_at, e.data`

type eventRow struct {
	ID         string    `db:"id"`
	Tenant     string    `db:"tenant_id"`
	SubTenant  string    `db:"sub_tenant_id"`
	Type       string    `db:"type"`
	OfChild    bool      `db:"of_child"`
	HappenedAt time.Time `db:"happened_at"`
	Data       string    `db:"data"`
}

// Targets are where the columns go. What the fan-out of an event goes by comes first, so
// that it is known even when the rest cannot be read.
func (row *eventRow) Targets() []any {
	return []any{&row.ID, &row.Tenant, &row.SubTenant, &row.Type, &row.OfChild, &row.HappenedAt, &row.Data}
}

func (row *eventRow) key() core.KeyRow { return core.KeyRow{Tenant: row.Tenant, ID: row.ID} }

func (row eventRow) restore() *event.Event {
	return event.Restore(event.State{
		ID: event.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Type: event.Type(row.Type),
		At: row.HappenedAt.UTC(), Data: domain.RestoreDocument(row.Data), OfChild: row.OfChild,
	})
}

// newEventRow is a row of [core.Dialect.Rows].
type newEventRow struct {
	Tenant     string `json:"tenant_id"`
	ID         string `json:"id"`
	SubTenant  string `json:"sub_tenant_id"`
	Type       string `json:"type"`
	HappenedAt string `json:"happened_at"`
	Data       string `json:"data"`
	OfChild    bool   `json:"of_child"`
}

// Append adds events.
func (s eventRepository) Append(ctx context.Context, events ...*event.Event) error {
	return s.append(ctx, ``, events)
}

// AppendIfWanted adds those that an endpoint may want.
func (s eventRepository) AppendIfWanted(ctx context.Context, events ...*event.Event) error {
	return s.append(ctx, ` WHERE EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.tenant_id = r.tenant_id AND e.is_active
		AND (e.include_children OR NOT CAST(r.of_child AS boolean)))`, events)
}

// append adds the events that a condition holds for, all in one statement.
func (s eventRepository) append(ctx context.Context, condition string, events []*event.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]newEventRow, len(events))
	for i, e := range events {
		st := e.State()
		rows[i] = newEventRow{
			Tenant: string(st.Tenant), ID: string(st.ID), SubTenant: string(st.SubTenant), Type: string(st.Type),
			HappenedAt: st.At.UTC().Format(core.TimeFormat), Data: st.Data.String(), OfChild: st.OfChild,
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode events: %w", err))
	}
	added, err := s.Exec(ctx, "append events", `INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, of_child, waits)
		SELECT r.tenant_id, r.id, r.sub_tenant_id, r.type, r.happened_at, r.data, CAST(r.of_child AS boolean), true FROM `+s.store.dialect.Rows(1,
		core.Column{Name: "tenant_id"}, core.Column{Name: "id"}, core.Column{Name: "sub_tenant_id"}, core.Column{Name: "type"},
		core.Column{Name: "happened_at", Time: true}, core.Column{Name: "data"}, core.Column{Name: "of_child"})+condition, string(text))
	if added > 0 {
		s.NoteEvents()
	}
	return err
}

// Get reads an event.
func (s eventRepository) Get(ctx context.Context, scope tenant.Scope, id event.ID) (*event.Event, error) {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	var row eventRow
	err := s.ReadRow(ctx, "get event", &row, `SELECT `+eventColumns+` FROM webhook_events e WHERE e.tenant_id = $1 AND e.id = $2`+in, args...)
	if err != nil {
		return nil, core.NotFound(err, "event_not_found", "There is no such event.")
	}
	return row.restore(), nil
}

// waitingReserve is how many times as many events are chosen from as are asked for, so that
// some are left where other units have the first ones.
const waitingReserve = 4

// PendingFanOut claims events that wait: those of the tenants that follow, and of the first ones
// as many as are missing.
func (s eventRepository) PendingFanOut(ctx context.Context, limit int, after tenant.ID, except ...outbound.EventKey) ([]*event.Event, error) {
	if err := s.planFreshly(ctx); err != nil {
		return nil, err
	}
	keys := make([]core.KeyRow, len(except))
	for i, k := range except {
		keys[i] = core.KeyRow{Tenant: string(k.Tenant), ID: string(k.Event)}
	}
	_, excepted, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, s.Fail(err)
	}
	reserve := waitingReserve
	if s.ForUpdate() == "" {
		reserve = 1
	}
	waiting := func(limit int, after, until tenant.ID) ([]scannedRow[eventRow], error) {
		return listEach[eventRow](ctx, s.unit, "claim waiting events", s.store.dialect.Waiting, excepted, limit, reserve*limit, int(s.Level()), string(after), string(until))
	}
	rows, err := waiting(limit, after, "")
	if err == nil && after != "" && len(rows) < limit {
		var first []scannedRow[eventRow]
		first, err = waiting(limit-len(rows), "", after)
		rows = append(rows, first...)
	}
	if err != nil {
		return nil, err
	}
	found := make([]*event.Event, len(rows))
	for i, one := range rows {
		found[i] = one.row.restore()
	}
	return found, nil
}

// MarkFannedOut marks events, all in one statement.
func (s eventRepository) MarkFannedOut(ctx context.Context, events ...*event.Event) error {
	if len(events) == 0 {
		return nil
	}
	keys := make([]core.KeyRow, len(events))
	for i, e := range events {
		keys[i] = core.KeyRow{Tenant: string(e.Tenant()), ID: string(e.ID())}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "settle events", `UPDATE webhook_events AS e SET waits = false FROM `+table+`
		WHERE e.tenant_id = r.tenant_id AND e.id = r.id AND e.waits`, parameter)
	return err
}

// Sweep removes old events; the schema's cascades remove their deliveries.
func (s eventRepository) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep events", `DELETE FROM webhook_events WHERE (tenant_id, id) IN (
			SELECT e.tenant_id, e.id FROM webhook_events e
			WHERE e.happened_at < $1 AND NOT e.waits AND NOT EXISTS (
				SELECT 1 FROM webhook_deliveries d JOIN tenants t ON t.id = d.tenant_id
				WHERE d.tenant_id = e.tenant_id AND d.event_id = e.id AND d.status = 'pending' AND t.status = 'active')
			ORDER BY e.happened_at LIMIT CAST($2 AS bigint))`, before, limit)
	return int(n), err
}
