package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// pauses reads a table that a trigger of the database keeps, whichever version of the gateway records
// a step.
type pauses repository

var _ outbound.PauseRepository = pauses{}

const pauseColumns = `id, tenant_id, sub_tenant_id, run_id, workflow_id, node_id, entity_id, since, until, question`

type pauseRow struct {
	id, tenant, subTenant, run, workflow, node, entity string

	since    int64
	until    *int64
	question *string
}

// Targets are where the columns of a list go.
func (row *pauseRow) Targets() []any {
	return []any{&row.id, &row.tenant, &row.subTenant, &row.run, &row.workflow, &row.node, &row.entity, &row.since, &row.until, &row.question}
}

// Size is the length of its texts.
func (row *pauseRow) Size() int { return len(row.entity) + core.TextLen(row.question) }

// SizeSQL is the same, of the columns.
func (*pauseRow) SizeSQL() string {
	return `octet_length(entity_id) + coalesce(octet_length(question), 0)`
}

func (row pauseRow) pause() (run.OpenPause, error) {
	p := run.OpenPause{
		ID: run.PauseID(row.id), Tenant: tenant.ID(row.tenant), SubTenant: tenant.SubTenantID(row.subTenant), Run: run.ID(row.run), Workflow: workflow.ID(row.workflow),
		Node: workflow.NodeID(row.node), Entity: row.entity, Since: time.UnixMilli(row.since).UTC(),
	}
	if row.until != nil {
		until := time.UnixMilli(*row.until).UTC()
		p.Until = &until
	}
	if row.question == nil {
		return p, nil
	}
	var err error
	if p.Question, err = run.DecodeQuestion([]byte(*row.question)); err != nil {
		return p, fmt.Errorf("question %s: %w", row.id, err)
	}
	return p, nil
}

// List reads a page; each single filter is answered by an index that has the order.
func (s pauses) List(ctx context.Context, scope tenant.Scope, f run.PauseFilter, q domain.Query) (domain.Page[run.OpenPause], error) {
	return core.ReadPage(ctx, s.Unit, listPauses(scope, f), q, pauseRow.pause)
}

func listPauses(scope tenant.Scope, f run.PauseFilter) *core.List {
	l := core.NewList("pauses", pauseColumns, scope, core.ByWorkflow("workflow_id"), map[string]string{domain.DefaultSortField: "since"})
	l.OfSubTenant(f.SubTenant)
	if f.Assignee != nil {
		l.Equal("assignee", *f.Assignee)
	}
	if f.Entity != nil {
		l.Equal("entity_id", *f.Entity)
	}
	if f.Workflow != "" {
		l.Equal("workflow_id", string(f.Workflow))
	}
	return l
}
