package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

var sorted = map[string]string{"createdAt": "created_at", "updatedAt": "updated_at"}

// List reads a page of a tenant's runs, without what can be large. Each single filter is
// answered by an index that has the default order, so that a page costs as much as there
// is on it and before it; other than of pending runs, which are found among those that
// have not finished, and of runs without a sub-tenant, which are found among all. The
// number of all that fit costs as much as there are, in the index alone.
func (s repository) List(ctx context.Context, scope tenant.Scope, f run.Filter, q domain.Query) (domain.Page[run.Summary], error) {
	l := runList{core.NewList("runs", summaryColumns, scope, core.ScopeCondition{}, sorted)}
	page, count, err := l.ofRuns(scope, f, q, s.store.dialect)
	if err != nil {
		return domain.Page[run.Summary]{}, err
	}
	return core.ReadPageBy(ctx, s.Unit, l.List, q, page, count, summaryRow.summary)
}

// runList is a list of runs.
type runList struct{ *core.List }

// ofRuns is what reads the page, and what counts all runs that fit; see
// [core.ReadPageBy]. It keeps to the scope as to a filter, for which there is an index.
func (l runList) ofRuns(scope tenant.Scope, f run.Filter, q domain.Query, d dialect) (page, count string, err error) {
	order, err := l.Order(q)
	if err != nil {
		return "", "", err
	}
	fixed, times := l.fixedOfRuns(scope, f), l.timesOfRuns(f)
	if f.Status != "" {
		l.Equal("status", string(f.Status))
		if d.Facets != "" {
			l.Where = append(l.Where, indexOfStatus(f.Status, "$1"))
		}
	}
	owned := []string{"tenant_id = $1"}
	all := slices.Concat(owned, fixed, times, l.Where)
	switch facets := d.Facets; {
	case facets == "":
		count = ` FROM runs WHERE ` + strings.Join(all, " AND ")
		page = count + order + l.Limit(q)
	case f.Status == "" && q.By() == domain.DefaultSortField:
		count = ` FROM ` + facets + ` WHERE ` + strings.Join(all, " AND ")
		page = ` FROM runs WHERE tenant_id = $1 AND id ` + d.AmongFirst(`SELECT id`+count+order+l.Limit(q)) + order
	default:
		conditions := slices.Concat(owned, times, l.Where)
		if len(fixed) > 0 {
			conditions = append(conditions, d.amongFacets(fixed))
		}
		page = ` FROM runs WHERE ` + strings.Join(conditions, " AND ")
		if count = page; f.Status == "" {
			count = ` FROM ` + facets + ` WHERE ` + strings.Join(all, " AND ")
		}
		page += order + l.Limit(q)
	}
	count = `SELECT count(*)` + count
	return `SELECT ` + l.Columns + `, (` + count + `) AS total, '' AS stamp` + page, count, nil
}

// amongFacets are conditions on facets as one on the table of runs.
func (d dialect) amongFacets(fixed []string) string {
	return `EXISTS (SELECT 1 FROM ` + d.Facets + ` f WHERE f.tenant_id = runs.tenant_id AND f.created_at = runs.created_at
		AND f.id = runs.id AND f.` + strings.Join(fixed, " AND f.") + `)`
}

// indexOfStatus is what finds the runs of a status by an index. owner is what the statement calls
// the tenant.
func indexOfStatus(s run.Status, owner string) string {
	if s == run.StatusPending {
		return "id = ANY (ARRAY(SELECT l.id FROM live_runs l WHERE l.tenant_id = " + owner + "))"
	}
	return "status <> 'pending'"
}

// fixedOfRuns are the conditions on what never changes of a run and has a column besides
// its times.
func (l runList) fixedOfRuns(scope tenant.Scope, f run.Filter) (conditions []string) {
	equal := func(column, value string) {
		conditions = append(conditions, column+" = "+l.Arg(value))
	}
	if f.Workflow != "" {
		equal("workflow_id", string(f.Workflow))
	}
	if f.Version != "" {
		equal("workflow_version_id", string(f.Version))
	}
	if f.Trigger != "" {
		equal("trigger_id", string(f.Trigger))
		conditions = append(conditions, "trigger_id <> ''") // as its index says
	}
	if f.Entity != nil {
		equal("entity_id", *f.Entity)
	}
	if workflows := scope.Workflows(); len(workflows) > 0 {
		list := make([]string, len(workflows))
		for i, id := range workflows {
			list[i] = l.Arg(id)
		}
		conditions = append(conditions, "workflow_id IN ("+strings.Join(list, ", ")+")")
	}
	for _, sub := range []*tenant.SubTenantID{scope.SubTenant(), f.SubTenant} {
		if sub == nil {
			continue
		}
		equal("sub_tenant_id", string(*sub))
		if *sub != "" {
			conditions = append(conditions, "sub_tenant_id <> ''")
		}
	}
	return conditions
}

// timesOfRuns are those on what the table of runs can answer as well.
func (l runList) timesOfRuns(f run.Filter) (conditions []string) {
	if f.From != nil {
		conditions = append(conditions, "created_at >= "+l.Arg(f.From.UTC()))
	}
	switch {
	case f.Parent != "":
		conditions = append(conditions, "parent_run_id = "+l.Arg(string(f.Parent)), "parent_run_id <> ''") // as its index says
	case !f.Children:
		conditions = append(conditions, "parent_run_id = ''")
	}
	if f.To != nil {
		conditions = append(conditions, "created_at < "+l.Arg(f.To.UTC()))
	}
	return conditions
}
