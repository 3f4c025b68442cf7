package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// listWorkflows measures one page of a tenant's workflows with its exact total,
// against pgbench selecting the same page without a total. That the rate is the same
// however many workflows there are is what the rows together show.
type listWorkflows struct {
	workflows int

	env     *env
	request loadRequest
	script  string // pgbench's
}

const (
	fewWorkflows  = 1_000
	manyWorkflows = 1_000_000

	listConnections   = 64
	selectConnections = 8 // what pgbench is given: more do not make it faster on two cores
)

func (r *listWorkflows) about() about {
	return about{
		name: "workflows-" + strconv.Itoa(r.workflows), aim: 0.33,
		what: fmt.Sprintf("GET /workflows?limit=20 of %d, exact total, %d connections", r.workflows, listConnections),
	}
}

// prepare fills a tenant with copies of the example workflow and sets their total, as the
// gateway would have counted it.
func (r *listWorkflows) prepare(ctx context.Context, e *env) error {
	r.env = e
	ten, err := e.newTenant(ctx, "bench "+r.about().name)
	if err != nil {
		return err
	}
	tenant := pgbenchLiteral(ten.ID)
	err = e.database.exec(ctx,
		`ALTER TABLE workflows DISABLE TRIGGER workflows_inserted`,
		`INSERT INTO workflows (tenant_id, id, sub_tenant_id, name, description, search_text, is_active, created_at, updated_at, revision)
			SELECT tenant_id, 'wf_' || lpad(CAST(n AS text), 26, '0'), sub_tenant_id, name || ' ' || n, description, search_text || ' ' || n,
				is_active, created_at - n * interval '1 second', updated_at - n * interval '1 second', revision
			FROM workflows, generate_series(2, `+strconv.Itoa(r.workflows)+`) AS n WHERE tenant_id = `+tenant,
		`UPDATE totals SET n = `+strconv.Itoa(r.workflows)+` WHERE kind = 'workflows' AND tenant_id = `+tenant,
		`ALTER TABLE workflows ENABLE TRIGGER workflows_inserted`,
		`VACUUM ANALYZE workflows`,
	)
	if err != nil {
		return fmt.Errorf("fill the tenant: %w", err)
	}
	r.request = loadRequest{Method: http.MethodGet, Path: "/workflows?limit=20", APIKeys: []string{ten.SecretKey}}
	body, err := r.request.send(ctx, e.gateway.URL)
	if err != nil {
		return err
	}
	if total := fmt.Sprintf(`"total":%d,`, r.workflows); !strings.Contains(string(body), total) {
		return fmt.Errorf("the page does not hold %s: %s", total, body)
	}
	r.script, err = e.writeFile(r.about().name+".pgbench", []byte(`SELECT id, tenant_id, sub_tenant_id, name, description, is_active, created_at, updated_at, revision
FROM workflows WHERE tenant_id = `+tenant+` ORDER BY created_at DESC, id DESC LIMIT 20 OFFSET 0;
`))
	return err
}

func (r *listWorkflows) baseline(ctx context.Context, period time.Duration) (load, error) {
	return r.env.database.pgbench(ctx, r.script, selectConnections, period, nil)
}

func (r *listWorkflows) gateway(ctx context.Context, period time.Duration) (load, error) {
	return r.env.loadGateway(ctx, r.request, listConnections, period)
}
