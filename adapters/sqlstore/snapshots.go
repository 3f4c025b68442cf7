package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// snapshots keeps graphs of drafts in the rows for payloads that runs share, which are counted
// and go in the same way.
type snapshots struct{ *unit }

var _ outbound.SnapshotRepository = snapshots{}

// Keep copies the graph within the database.
func (s snapshots) Keep(ctx context.Context, scope tenant.Scope, id workflow.VersionID, revision int64) (run.SnapshotID, error) {
	kept := run.SnapshotID(string(id) + "@" + strconv.FormatInt(revision, 10))
	in, args := core.Within(scope, core.ByWorkflow("workflow_id").Of("v"), string(id))
	var current int64
	err := s.ReadRow(ctx, "find draft", &current, `SELECT v.revision FROM workflow_versions v WHERE v.tenant_id = $1 AND v.id = $2`+in+s.keepVersions(), args...)
	switch {
	case err != nil:
		return "", s.Fail(core.NotFound(err, versionNotFound, versionNotFoundMessage))
	case current != revision:
		return "", s.Fail(domain.Fail(domain.Conflict, "stale_revision", "The draft has changed in the meantime. Read it again and repeat what you did."))
	}
	if err := s.Hold(ctx, scope.Tenant(), kept); !errors.Is(err, domain.NotFound) {
		return kept, err
	}
	n, err := s.Exec(ctx, "keep draft", `INSERT INTO run_payloads (tenant_id, id, payload)
		SELECT v.tenant_id, $3, v.graph FROM workflow_versions v WHERE v.tenant_id = $1 AND v.id = $2 AND v.revision = $4
		ON CONFLICT (tenant_id, id) DO UPDATE SET id = excluded.id`, string(scope.Tenant()), string(id), string(kept), revision)
	if err == nil && n == 0 {
		err = s.Fail(domain.Fail(domain.Conflict, "stale_revision", "The draft has changed in the meantime. Read it again and repeat what you did."))
	}
	return kept, err
}

// Hold locks the row: whoever removes the last run that refers to it waits.
func (s snapshots) Hold(ctx context.Context, owner tenant.ID, id run.SnapshotID) error {
	var held string
	err := s.ReadRow(ctx, "hold snapshot", &held, `SELECT id FROM run_payloads WHERE tenant_id = $1 AND id = $2`+s.store.dialect.Runs.HoldShared,
		string(owner), string(id))
	return snapshotGone(err)
}

func snapshotGone(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return core.NotFound(err, versionNotFound, "What the run executed is not kept any more.")
	}
	return err
}

// Get reads a snapshot.
func (s snapshots) Get(ctx context.Context, owner tenant.ID, id run.SnapshotID) (workflow.Graph, error) {
	var text string
	err := s.ReadRow(ctx, "get snapshot", &text, `SELECT payload FROM run_payloads WHERE tenant_id = $1 AND id = $2`, string(owner), string(id))
	if err != nil {
		return workflow.Graph{}, snapshotGone(err)
	}
	graph, err := decodeGraph(text)
	if err != nil {
		return graph, fmt.Errorf("snapshot %s: graph: %w", id, err)
	}
	return graph, nil
}
