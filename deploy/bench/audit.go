package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// recordChange measures a change of management with its entry in the audit log, each in a unit of its own, against pgbench
// putting both rows into bare tables in one transaction.
type recordChange struct {
	connections int

	env     *env
	request loadRequest
	script  string // pgbench's
	rounds  int    // of the baseline
}

func (r *recordChange) about() about {
	return about{name: "audit", aim: 0.2, what: fmt.Sprintf("POST /sub-tenants with its entry in the audit log, %d connections", r.connections)}
}

// prepare makes one change, which the baseline's rows are like.
func (r *recordChange) prepare(ctx context.Context, e *env) error {
	r.env = e
	ten, err := e.newTenant(ctx, "bench audit")
	if err != nil {
		return err
	}
	r.request = loadRequest{Method: http.MethodPost, Path: "/sub-tenants", Body: `{"name":"The shop in the old town"}`, APIKeys: []string{ten.SecretKey}}
	if _, err := r.request.send(ctx, e.gateway.URL); err != nil {
		return err
	}
	script := "\\set i :i + 1\n\\set n :i * 100 + :client_id\nBEGIN;\n"
	for _, table := range []struct {
		name, like string
		instead    map[string]string
	}{
		{"sub_tenants", "LIKE sub_tenants INCLUDING ALL", map[string]string{"id": "'st_' || lpad(CAST(:n AS text), 26, '0')", "sub_tenant_id": "'st_' || lpad(CAST(:n AS text), 26, '0')"}},
		{"audit_log", "LIKE audit_log, PRIMARY KEY (tenant_id, at, id)", map[string]string{"id": "'aud_' || lpad(CAST(:n AS text), 26, '0')", "seq": "NULL", "hash": "NULL"}},
	} {
		if err := e.database.exec(ctx, `CREATE TABLE IF NOT EXISTS bench_`+table.name+` (`+table.like+`)`); err != nil {
			return err
		}
		columns, values, err := literalRow(ctx, e.database.DB, table.name, ten.ID, table.instead)
		if err != nil {
			return err
		}
		script += fmt.Sprintf("INSERT INTO bench_%s (%s) VALUES (%s);\n", table.name, columns, values)
	}
	r.script, err = e.writeFile("audit.pgbench", []byte(script+"END;\n"))
	return err
}

func (r *recordChange) baseline(ctx context.Context, period time.Duration) (load, error) {
	r.rounds++
	return r.env.database.pgbench(ctx, r.script, r.connections, period, map[string]int{"i": r.rounds * spanOfRound})
}

// gateway also counts the entries: each acknowledged change must have one.
func (r *recordChange) gateway(ctx context.Context, period time.Duration) (load, error) {
	before, err := r.env.database.count(ctx, "audit_log")
	if err != nil {
		return load{}, err
	}
	found, err := r.env.loadGateway(ctx, r.request, r.connections, period)
	if err != nil {
		return load{}, err
	}
	after, err := r.env.database.count(ctx, "audit_log")
	if err == nil && after-before < found.requests {
		err = fmt.Errorf("%d changes were acknowledged, and %d have an entry", found.requests, after-before)
	}
	return found, err
}
