package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// activation leaves the schedules of the triggers that it changes, and which version was
// active before, to triggers of the schema, which know what gateways of the last release do.
type activation struct{ *unit }

var _ outbound.ActivationRepository = activation{}

// Previous finds the version that was replaced last. While the workflow does not know which
// that was, it is the one that was published last.
func (s activation) Previous(ctx context.Context, scope tenant.Scope, of workflow.ID) (workflow.VersionID, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id").Of("v"), string(of))
	var id string
	err := s.ReadRow(ctx, "find the version that was active before", &id, `SELECT v.id FROM workflow_versions v
		JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id
		WHERE v.tenant_id = $1 AND v.workflow_id = $2`+in+` AND NOT v.is_active AND v.published_at IS NOT NULL
		ORDER BY coalesce(v.id = w.previous_version_id, false) DESC, v.published_at DESC, v.number DESC LIMIT 1`, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return workflow.VersionID(id), err
}

// Move attaches triggers to another version. Until that is active they count as left behind,
// so that their schedules stay held.
func (s activation) Move(ctx context.Context, scope tenant.Scope, from, to workflow.VersionID, now time.Time) ([]trigger.ID, error) {
	if err := s.FirstFailure(); err != nil {
		return nil, err
	}
	in, args := core.Within(scope, byVersion, string(from), string(to), now)
	var moved []trigger.ID
	err := s.ReadRows(ctx, "move triggers", &moved, `UPDATE triggers
		SET workflow_version_id = $3, left_at = $4, updated_at = $4, revision = revision + 1
		WHERE tenant_id = $1 AND workflow_version_id = $2`+in+` RETURNING id`, args...)
	if err != nil {
		return nil, s.Fail(err)
	}
	slices.Sort(moved)
	return moved, nil
}

// MarkLeftBehind marks the triggers of a version that can fire.
func (s activation) MarkLeftBehind(ctx context.Context, scope tenant.Scope, version workflow.VersionID, now time.Time) error {
	in, args := core.Within(scope, byVersion, string(version), now)
	_, err := s.Exec(ctx, "leave triggers behind", `UPDATE triggers SET left_at = $3
		WHERE tenant_id = $1 AND workflow_version_id = $2 AND is_active AND left_at IS NULL`+in, args...)
	return err
}

// Sweep forgets that triggers were left behind, and no longer holds their schedules.
func (s activation) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "forget triggers that were left behind", `UPDATE triggers SET left_at = NULL WHERE (tenant_id, id) IN (
			SELECT tenant_id, id FROM triggers WHERE left_at < $1 ORDER BY left_at LIMIT $2)`, before, limit)
	return int(n), err
}
