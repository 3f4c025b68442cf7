package runs

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// OldestWaiting is the statement that finds the run of an active tenant that has been free for
// the longest time, as tenant_id, id and free_at. $1 is the time now.
//
//go:embed oldest.sql
var OldestWaiting string

// allRuns are those of all tenants. No index has them in one order, so that each start of a run
// costs nothing for it: the first ones of each tenant are found by its own indexes.
type allRuns repository

var _ outbound.AllRuns = allRuns{}

// List reads a page.
func (s allRuns) List(ctx context.Context, f run.OperatorFilter, q domain.Query) (domain.Page[run.Summary], error) {
	l := core.NewListOfAll("runs", "r.*", map[string]string{domain.DefaultSortField: "created_at"})
	page, count, err := pageOfAll(l, f, q, s.store.dialect)
	if err != nil {
		return domain.Page[run.Summary]{}, err
	}
	return core.ReadPageBy(ctx, s.Unit, l, q, page, count, summaryRow.summary)
}

// pageOfAll is what reads a page of the runs of all tenants, and what counts all that fit.
func pageOfAll(l *core.List, f run.OperatorFilter, q domain.Query, d dialect) (page, count string, err error) {
	order, err := l.Order(q)
	if err != nil {
		return "", "", err
	}
	of := ""
	if f.Tenant != "" {
		of = " AND t.id = " + l.Arg(string(f.Tenant))
	}
	table, condition := cmp.Or(d.Facets, "runs"), ""
	if f.Status != "" {
		table = "runs"
		if condition = " AND f.status = " + l.Arg(string(f.Status)); d.Facets != "" {
			condition += " AND f." + indexOfStatus(f.Status, "t.id")
		}
	}
	if f.Before != nil {
		condition += " AND f.created_at < " + l.Arg(f.Before.UTC())
	}
	count = `SELECT CAST(coalesce(sum((SELECT count(*) FROM ` + table + ` f WHERE f.tenant_id = t.id` + condition + `)), 0) AS bigint) FROM tenants t WHERE true` + of
	limits := l.Limit(q)
	limit, offset, _ := strings.Cut(strings.TrimPrefix(limits, " LIMIT "), " OFFSET ")
	firstOnes := order + ` LIMIT CAST(` + limit + ` AS bigint) + CAST(` + offset + ` AS bigint)`
	return `SELECT r.*, (` + count + `) AS total, '' AS stamp FROM (
		SELECT tenant_id AS owner, id AS run FROM (` + d.FirstOfEach(table, condition, firstOnes, of) + `) AS firsts` + order + limits + `) AS p ` +
		d.RunsOf(summaryColumns) + order, count, nil
}

const findRun = `SELECT ` + summaryColumns + ` FROM runs WHERE id = $1 AND tenant_id = (
	SELECT t.id FROM tenants t WHERE (SELECT r.seq FROM runs r WHERE r.tenant_id = t.id AND r.id = $1) IS NOT NULL LIMIT 1)`

// Get finds whose run it is by the keys of all tenants.
func (s allRuns) Get(ctx context.Context, id run.ID) (found run.Standing, err error) {
	var row summaryRow
	err = s.ReadRow(ctx, "find a run", &row, findRun, string(id))
	if errors.Is(err, sql.ErrNoRows) {
		return found, core.NotFound(err, "run_not_found", "There is no such run.")
	}
	if err != nil {
		return found, err
	}
	if found.Summary, err = row.summary(); err != nil {
		return found, err
	}
	if err = s.ReadRow(ctx, "find the engine of a run", &found.Engine, `SELECT engine FROM runs WHERE tenant_id = $1 AND id = $2`, row.Tenant, row.ID); err != nil {
		return found, err
	}
	var at struct {
		FreeAt sql.Null[core.Instant] `db:"free_at"`
		Worker string                 `db:"worker"`
		Until  sql.Null[core.Instant] `db:"lease_until"`
	}
	err = s.ReadRow(ctx, "find a run in the queue", &at, `SELECT free_at, worker, lease_until FROM live_runs WHERE tenant_id = $1 AND id = $2`, row.Tenant, row.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return found, nil // it has finished
	}
	if at.FreeAt.Valid {
		found.FreeAt = &at.FreeAt.V.Time
	}
	if at.Until.Valid {
		found.Worker, found.LeasedUntil = at.Worker, &at.Until.V.Time
	}
	return found, err
}

// OldestWaiting finds it.
func (s allRuns) OldestWaiting(ctx context.Context, now time.Time) (oldest run.Waiting, ok bool, err error) {
	var row struct {
		Tenant string       `db:"tenant_id"`
		ID     string       `db:"id"`
		FreeAt core.Instant `db:"free_at"`
	}
	err = s.ReadRowUnprepared(ctx, "find the oldest waiting run", &row, OldestWaiting, now.UTC())
	if errors.Is(err, sql.ErrNoRows) {
		return oldest, false, nil
	}
	return run.Waiting{Run: run.ID(row.ID), Tenant: tenant.ID(row.Tenant), Since: row.FreeAt.Time}, err == nil, err
}
