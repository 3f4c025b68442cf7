package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type nodeHealth struct{ *unit }

var _ outbound.NodeHealthRepository = nodeHealth{}

type nodeHealthRow struct {
	Node      string    `db:"node_id"`
	Endpoint  string    `db:"endpoint"`
	Healthy   bool      `db:"is_healthy"`
	CheckedAt time.Time `db:"checked_at"`
	Latency   int64     `db:"latency_ms"`
	Code      string    `db:"code"`
	Message   string    `db:"message"`
}

// Get reads what is noted of the custom nodes.
func (s nodeHealth) Get(ctx context.Context, owner tenant.ID, ids ...node.CustomID) (map[node.CustomID]node.Health, error) {
	found := make(map[node.CustomID]node.Health, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	args, places := []any{string(owner)}, make([]string, len(ids))
	for i, id := range ids {
		args = append(args, string(id))
		places[i] = fmt.Sprintf("$%d", len(args))
	}
	var rows []nodeHealthRow
	err := s.ReadRows(ctx, "read the health of custom nodes", &rows, `SELECT node_id, endpoint, is_healthy, checked_at, latency_ms, code, message
		FROM custom_node_health WHERE tenant_id = $1 AND node_id IN (`+strings.Join(places, ", ")+`)`, args...)
	for _, row := range rows {
		found[node.CustomID(row.Node)] = node.Health{
			Endpoint: row.Endpoint, Healthy: row.Healthy, CheckedAt: row.CheckedAt.UTC(),
			Latency: fromMillis(row.Latency), Code: row.Code, Message: row.Message,
		}
	}
	return found, err
}

// Record keeps what was found of one custom node.
func (s nodeHealth) Record(ctx context.Context, owner tenant.ID, id node.CustomID, h node.Health) error {
	return s.note(ctx, owner, h, "id = $2", string(id))
}

// RecordShared keeps what was found of the custom nodes without an endpoint of their own.
func (s nodeHealth) RecordShared(ctx context.Context, owner tenant.ID, h node.Health) error {
	return s.note(ctx, owner, h, "endpoint = $2", "")
}

// note keeps what was found of the tenant's custom nodes that the condition on $2
// chooses. It holds them, so that none is deleted meanwhile.
func (s nodeHealth) note(ctx context.Context, owner tenant.ID, h node.Health, condition, which string) error {
	var ids []string
	err := s.ReadRows(ctx, "list custom nodes that were asked", &ids,
		`SELECT id FROM custom_nodes WHERE tenant_id = $1 AND `+condition+` ORDER BY id`+s.ForUpdate(), string(owner), which)
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := s.Exec(ctx, "note the health of a custom node", `INSERT INTO custom_node_health
				(tenant_id, node_id, endpoint, is_healthy, checked_at, latency_ms, code, message)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (tenant_id, node_id) DO UPDATE
			SET endpoint = excluded.endpoint, is_healthy = excluded.is_healthy, checked_at = excluded.checked_at,
				latency_ms = excluded.latency_ms, code = excluded.code, message = excluded.message
			WHERE custom_node_health.checked_at <= excluded.checked_at`,
			string(owner), id, h.Endpoint, h.Healthy, h.CheckedAt, h.Latency.Milliseconds(), h.Code, h.Message)
		if err != nil {
			return err
		}
	}
	return nil
}

// HasShared says whether there is a custom node without an endpoint of its own.
func (s nodeHealth) HasShared(ctx context.Context, owner tenant.ID) (shares bool, err error) {
	err = s.ReadRow(ctx, "look for custom nodes without an endpoint", &shares,
		`SELECT EXISTS (SELECT 1 FROM custom_nodes WHERE tenant_id = $1 AND endpoint = '')`, string(owner))
	return shares, err
}
