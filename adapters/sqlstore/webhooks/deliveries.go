package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type deliveryRepository struct{ *unit }

var _ outbound.DeliveryRepository = deliveryRepository{}

const deliveryColumns = `id, tenant_id, endpoint_id, event_id, event_type, status, attempts, attempted, next_attempt_at, is_manual,
	is_urgent, leased_until, delivered_at, reason, created_at, updated_at, revision`

// byEndpointAndEvent is what holds for the deliveries of a sub-tenant. An endpoint can move to another
// one, and what was sent to it before must not.
var byEndpointAndEvent = core.ScopeCondition{SubTenant: `EXISTS (SELECT 1 FROM webhook_endpoints p WHERE p.tenant_id = webhook_deliveries.tenant_id
		AND p.id = webhook_deliveries.endpoint_id AND p.sub_tenant_id = %[1]s)
	AND EXISTS (SELECT 1 FROM webhook_events p WHERE p.tenant_id = webhook_deliveries.tenant_id
		AND p.id = webhook_deliveries.event_id AND p.sub_tenant_id = %[1]s)`}

type deliveryRow struct {
	ID          string     `db:"id"`
	Tenant      string     `db:"tenant_id"`
	Endpoint    string     `db:"endpoint_id"`
	Event       string     `db:"event_id"`
	Type        string     `db:"event_type"`
	Status      string     `db:"status"`
	Attempts    string     `db:"attempts"`
	Attempted   int        `db:"attempted"`
	Next        *time.Time `db:"next_attempt_at"`
	Manual      bool       `db:"is_manual"`
	Urgent      bool       `db:"is_urgent"`
	LeasedUntil *time.Time `db:"leased_until"`
	DeliveredAt *time.Time `db:"delivered_at"`
	Reason      string     `db:"reason"`
	CreatedAt   time.Time  `db:"created_at"`
	UpdatedAt   time.Time  `db:"updated_at"`
	Revision    int64      `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *deliveryRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.Endpoint, &row.Event, &row.Type, &row.Status, &row.Attempts, &row.Attempted, &row.Next, &row.Manual,
		&row.Urgent, &row.LeasedUntil, &row.DeliveredAt, &row.Reason, &row.CreatedAt, &row.UpdatedAt, &row.Revision,
	}
}

func (row *deliveryRow) key() core.KeyRow { return core.KeyRow{Tenant: row.Tenant, ID: row.ID} }

func (row *deliveryRow) keyOf() outbound.DeliveryKey {
	return outbound.DeliveryKey{Tenant: tenant.ID(row.Tenant), Endpoint: event.EndpointID(row.Endpoint), Delivery: event.DeliveryID(row.ID)}
}

// Size is the length of its texts.
func (row *deliveryRow) Size() int { return len(row.Attempts) + len(row.Reason) }

// SizeSQL is the same, of the columns.
func (*deliveryRow) SizeSQL() string { return `octet_length(attempts) + octet_length(reason)` }

// attemptJSON is how an attempt is kept.
type attemptJSON struct {
	Number   int           `json:"number"`
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"duration"` // nanoseconds
	Status   int           `json:"status,omitempty"`
	Code     string        `json:"code,omitempty"`
	Error    string        `json:"error,omitempty"`
	Excerpt  string        `json:"excerpt,omitempty"`
	Manual   bool          `json:"manual,omitempty"`
}

func (row deliveryRow) restore() (*event.Delivery, error) {
	var kept []attemptJSON
	if err := json.Unmarshal([]byte(row.Attempts), &kept); err != nil {
		return nil, fmt.Errorf("delivery %s: attempts: %w", row.ID, err)
	}
	attempts := make([]event.Attempt, len(kept))
	for i, a := range kept {
		a.At = a.At.UTC()
		attempts[i] = event.Attempt(a)
	}
	return event.RestoreDelivery(event.DeliveryState{
		ID: event.DeliveryID(row.ID), Tenant: tenant.ID(row.Tenant), Endpoint: event.EndpointID(row.Endpoint), Event: event.ID(row.Event),
		Type: event.Type(row.Type), Status: event.Status(row.Status), Attempts: attempts, Attempted: row.Attempted, NextAttemptAt: core.InUTC(row.Next),
		Manual: row.Manual, Urgent: row.Urgent, LeasedUntil: core.InUTC(row.LeasedUntil), DeliveredAt: core.InUTC(row.DeliveredAt), Reason: row.Reason,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}), nil
}

func encodeAttempts(attempts []event.Attempt) (string, error) {
	kept := make([]attemptJSON, len(attempts))
	for i, a := range attempts {
		kept[i] = attemptJSON(a)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("encode attempts: %w", err)
	}
	return string(text), nil
}

// newDeliveryRow is a row of [core.Dialect.Rows].
type newDeliveryRow struct {
	ID          string  `json:"id"`
	Tenant      string  `json:"tenant_id"`
	Endpoint    string  `json:"endpoint_id"`
	Event       string  `json:"event_id"`
	Type        string  `json:"event_type"`
	Status      string  `json:"status"`
	Attempts    string  `json:"attempts"`
	Attempted   int     `json:"attempted"`
	Next        *string `json:"next_attempt_at"`
	Manual      bool    `json:"is_manual"`
	Urgent      bool    `json:"is_urgent"`
	LeasedUntil *string `json:"leased_until"`
	DeliveredAt *string `json:"delivered_at"`
	Reason      string  `json:"reason"`
	CreatedAt   string  `json:"created_at"`
	UpdatedAt   string  `json:"updated_at"`
	Revision    int64   `json:"revision"`
}

func newDelivery(st event.DeliveryState) (newDeliveryRow, error) {
	attempts, err := encodeAttempts(st.Attempts)
	return newDeliveryRow{
		ID: string(st.ID), Tenant: string(st.Tenant), Endpoint: string(st.Endpoint), Event: string(st.Event), Type: string(st.Type),
		Status: string(st.Status), Attempts: attempts, Attempted: st.Attempted, Next: core.FormatTime(st.NextAttemptAt), Manual: st.Manual,
		Urgent: st.Urgent, LeasedUntil: core.FormatTime(st.LeasedUntil), DeliveredAt: core.FormatTime(st.DeliveredAt), Reason: st.Reason,
		CreatedAt: st.CreatedAt.UTC().Format(core.TimeFormat), UpdatedAt: st.UpdatedAt.UTC().Format(core.TimeFormat), Revision: st.Revision,
	}, err
}

type newDeliveryColumn struct {
	core.Column
	cast string // empty for what is right already
}

// valueOf is what the table holds of a column of a row named r.
func (d dialect) valueOf(c newDeliveryColumn) string {
	switch {
	case c.Name == "next_attempt_at":
		return d.dueAt("r.next_attempt_at", "r.updated_at")
	case c.cast != "":
		return "CAST(r." + c.Name + " AS " + c.cast + ")"
	}
	return "r." + c.Name
}

// dueAt is when an attempt is due: what was due when the delivery was changed is due at
// once, whatever clock that was.
func (d dialect) dueAt(next, updated string) string {
	return "CASE WHEN " + next + " > " + d.Clock + " AND " + next + " <= " + updated + " THEN " + d.Clock + " ELSE " + next + " END"
}

// newDeliveryColumns are the columns of [newDeliveryRow], and how each becomes what the
// table holds.
var newDeliveryColumns = []newDeliveryColumn{
	{core.Column{Name: "id"}, ""}, {core.Column{Name: "tenant_id"}, ""}, {core.Column{Name: "endpoint_id"}, ""}, {core.Column{Name: "event_id"}, ""},
	{core.Column{Name: "event_type"}, ""}, {core.Column{Name: "status"}, ""}, {core.Column{Name: "attempts"}, ""}, {core.Column{Name: "attempted"}, "integer"},
	{core.Column{Name: "next_attempt_at", Time: true}, ""}, {core.Column{Name: "is_manual"}, "boolean"}, {core.Column{Name: "is_urgent"}, "boolean"}, {core.Column{Name: "leased_until", Time: true}, ""},
	{core.Column{Name: "delivered_at", Time: true}, ""}, {core.Column{Name: "reason"}, ""}, {core.Column{Name: "created_at", Time: true}, ""},
	{core.Column{Name: "updated_at", Time: true}, ""}, {core.Column{Name: "revision"}, "bigint"},
}

// Insert adds deliveries, all in one statement. They need the level of their events.
func (s deliveryRepository) Insert(ctx context.Context, deliveries ...*event.Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
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
	var columns []core.Column
	var selected []string
	for _, c := range newDeliveryColumns {
		columns, selected = append(columns, c.Column), append(selected, s.store.dialect.valueOf(c))
	}
	const level = `(SELECT e.needs_level FROM webhook_events e WHERE e.tenant_id = r.tenant_id AND e.id = r.event_id)`
	_, err = s.Exec(ctx, "insert deliveries", `INSERT INTO webhook_deliveries (`+deliveryColumns+`, needs_level) SELECT `+strings.Join(selected, ", ")+`, coalesce(`+level+`, 0) FROM `+
		s.store.dialect.Rows(1, columns...)+` WHERE true`, string(text))
	if err != nil {
		return err
	}
	s.countDeliveries(deliveries)
	return s.noteDeliveries(ctx, change.Created, deliveries)
}

// noteDeliveries notes deliveries for those who follow lists. Whose a delivery is follows from its
// event and its endpoint, which are asked for only then.
func (u *unit) noteDeliveries(ctx context.Context, op change.Operation, deliveries []*event.Delivery) error {
	var keys []core.KeyRow
	for _, d := range deliveries {
		if u.ListsFollowed(d.Tenant()) {
			keys = append(keys, core.KeyRow{Tenant: string(d.Tenant()), ID: string(d.ID())})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	table, parameter, err := u.store.dialect.Keys(keys)
	if err != nil {
		return u.Fail(err)
	}
	var found []struct {
		core.KeyRow
		Endpoint    string `db:"endpoint_id"`
		OfEvent     string `db:"event_sub_tenant_id"`
		OfReceiving string `db:"endpoint_sub_tenant_id"`
	}
	err = u.ReadRows(ctx, "find whose deliveries are", &found, `SELECT d.tenant_id, d.id, d.endpoint_id, e.sub_tenant_id AS event_sub_tenant_id, p.sub_tenant_id AS endpoint_sub_tenant_id
		FROM `+table+` JOIN webhook_deliveries d ON d.tenant_id = r.tenant_id AND d.id = r.id
		JOIN webhook_events e ON e.tenant_id = d.tenant_id AND e.id = d.event_id
		JOIN webhook_endpoints p ON p.tenant_id = d.tenant_id AND p.id = d.endpoint_id`, parameter)
	for _, row := range found {
		u.NoteLists(change.Change{
			Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.OfEvent), Mixed: row.OfEvent != row.OfReceiving, Kind: change.Delivery, Operation: op,
			ID: row.ID, Endpoint: event.EndpointID(row.Endpoint),
		})
	}
	return err
}

// Get reads a delivery.
func (s deliveryRepository) Get(ctx context.Context, scope tenant.Scope, id event.DeliveryID) (*event.Delivery, error) {
	in, args := core.Within(scope, byEndpointAndEvent, string(id))
	var row deliveryRow
	err := s.ReadRow(ctx, "get delivery", &row, `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, "delivery_not_found", "There is no such delivery.")
	}
	return row.restore()
}

// List reads a page of an endpoint's deliveries.
func (s deliveryRepository) List(ctx context.Context, scope tenant.Scope, of event.EndpointID, f event.DeliveryFilter, q domain.Query) (domain.Page[*event.Delivery], error) {
	l := core.NewList("webhook_deliveries", deliveryColumns, scope, byEndpointAndEvent, sorted)
	l.Equal("endpoint_id", string(of))
	if f.Status != "" {
		l.Equal("status", string(f.Status))
	}
	if f.Type != "" {
		l.Equal("event_type", string(f.Type))
	}
	if f.Event != "" {
		l.Equal("event_id", string(f.Event))
	}
	if f.From != nil {
		l.Where = append(l.Where, "created_at >= "+l.Arg(f.From.UTC()))
	}
	if f.To != nil {
		l.Where = append(l.Where, "created_at < "+l.Arg(f.To.UTC()))
	}
	return core.ReadPage(ctx, s.Unit, l, q, deliveryRow.restore)
}

// Update writes a delivery whose stored revision is the aggregate's. What it brings
// where never changes.
func (s deliveryRepository) Update(ctx context.Context, d *event.Delivery) error {
	st := d.State()
	attempts, err := encodeAttempts(st.Attempts)
	if err != nil {
		return s.Fail(err)
	}
	if err := s.countReplaced(ctx, d); err != nil {
		return err
	}
	n, err := s.Exec(ctx, "update delivery", `UPDATE webhook_deliveries
		SET status = $1, attempts = $2, attempted = $3, next_attempt_at = `+s.store.dialect.dueAt("$4", "$9")+`, is_manual = $5, leased_until = $6, delivered_at = $7, reason = $8,
			updated_at = $9, is_urgent = $10, revision = revision + 1
		WHERE tenant_id = $11 AND id = $12 AND revision = $13`,
		string(st.Status), attempts, st.Attempted, st.NextAttemptAt, st.Manual, st.LeasedUntil, st.DeliveredAt, st.Reason,
		st.UpdatedAt, st.Urgent, string(st.Tenant), string(st.ID), st.Revision)
	if st.NextAttemptAt != nil && !st.NextAttemptAt.After(st.UpdatedAt) {
		s.NoteEvents()
	}
	err = s.CheckUpdated(n, err, d.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
	if err != nil {
		return err
	}
	s.countDeliveries([]*event.Delivery{d})
	return s.noteDeliveries(ctx, change.Changed, []*event.Delivery{d})
}
