package jobs

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// ownRecords removes the next of a sub-tenant's records: a workflow with its versions and triggers, a connection, an endpoint, and at last its
// registration. What was created after the erasure was asked for stays.
func (e *eraser) ownRecords(ctx context.Context) (after string, removed job.Removed, err error) {
	scope := tenant.Only(e.job.Tenant(), tenant.SubTenantID(e.job.Name()))
	one, err := domain.NewPageRequest(1, 0)
	if err != nil {
		return "", removed, err
	}
	q := domain.Query{PageRequest: one, Sorting: domain.Sorting{Field: domain.DefaultSortField, Ascending: true}} // the oldest
	until := *e.job.Filter().To
	for _, next := range []func() (int, error){
		func() (int, error) {
			page, err := e.st.Workflows.List(ctx, scope, workflow.Filter{}, q)
			return first(page, err, until, func(wf *workflow.Workflow) error { return e.st.Workflows.Delete(ctx, scope, wf.ID()) })
		},
		func() (int, error) {
			page, err := e.st.Connections.List(ctx, scope, connection.Filter{}, q)
			return first(page, err, until, func(c *connection.Connection) error { return e.st.Connections.Delete(ctx, scope, c.ID()) })
		},
		func() (int, error) {
			page, err := e.st.Webhooks.Endpoints.List(ctx, scope, event.EndpointFilter{}, q)
			return first(page, err, until, func(to *event.Endpoint) error { return e.st.Webhooks.Endpoints.Delete(ctx, scope, to.ID()) })
		},
		func() (int, error) {
			page, err := e.st.SubTenants.List(ctx, scope, tenant.SubTenantFilter{}, q)
			return first(page, err, until, func(sub *tenant.SubTenant) error { return e.st.SubTenants.Delete(ctx, scope, sub.ID()) })
		},
	} {
		n, err := next()
		if removed.Records += n; err != nil || n > 0 {
			return more, removed, err
		}
	}
	return "", removed, nil
}

// first removes the first record of a page, if there is one that is older than a time.
func first[T interface{ CreatedAt() time.Time }](page domain.Page[T], err error, until time.Time, remove func(T) error) (int, error) {
	if err != nil || len(page.Items) == 0 || !page.Items[0].CreatedAt().Before(until) {
		return 0, err
	}
	return 1, remove(page.Items[0])
}
