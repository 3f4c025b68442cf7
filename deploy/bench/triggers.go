package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// createTrigger measures POST /triggers whole against a handler that only inserts: see
// [env.startInserts].
type createTrigger struct {
	connections int
	withKey     bool // every request has an idempotency key of its own

	env     *env
	tenant  string
	request loadRequest
	bare    *bareServer
}

func (r *createTrigger) about() about {
	a := about{
		name: "triggers-" + strconv.Itoa(r.connections), aim: 0.8,
		what: fmt.Sprintf("POST /triggers, %d connections", r.connections),
	}
	if r.connections == 1 {
		a.aim, a.what = 0.6, "POST /triggers, 1 connection"
	}
	if r.withKey {
		a.name, a.what, a.aim = a.name+"-key", a.what+", idempotency key", min(a.aim, 0.65)
	}
	return a
}

// prepare creates one trigger, which the baseline's rows are like.
func (r *createTrigger) prepare(ctx context.Context, e *env) error {
	r.env = e
	ten, err := e.newTenant(ctx, "bench "+r.about().name)
	if err != nil {
		return err
	}
	r.tenant = ten.ID
	if r.request, err = newTrigger(ten); err != nil {
		return err
	}
	if _, err := r.request.send(ctx, e.gateway.URL); err != nil {
		return err
	}
	if err := makeBareTable(ctx, e.database); err != nil {
		return err
	}
	if r.bare, err = e.startInserts(ctx, r); err != nil {
		return err
	}
	e.atClose(r.bare.Stop)
	return nil
}

// newTrigger asks for a trigger with every common setting.
func newTrigger(ten harness.Tenant) (loadRequest, error) {
	body, err := json.Marshal(map[string]any{
		"workflowVersionId": ten.WorkflowVersionID, "name": "Orders of the shop in the old town", "type": "webhook",
		"config": map[string]any{
			"webhookConfig": map[string]any{"event": "order.created"},
			"timeoutMs":     30000,
			"rateLimit":     map[string]any{"maxRequests": 100, "windowMs": 60000},
			"retryPolicy":   map[string]any{"maxRetries": 3, "backoffMs": 1000, "maxBackoffMs": 30000},
		},
	})
	return loadRequest{Method: http.MethodPost, Path: "/triggers", Body: string(body), APIKeys: []string{ten.SecretKey}}, err
}

// makeBareTable makes a table of the shape of the triggers', without its references
// and database triggers.
func makeBareTable(ctx context.Context, d *database) error {
	return d.exec(ctx, `CREATE TABLE IF NOT EXISTS bench_triggers (LIKE triggers INCLUDING ALL)`)
}

// bareRow returns a pgbench statement that puts a copy of a tenant's row of one table
// into another, under an identifier made of the variable n.
func bareRow(ctx context.Context, db *sql.DB, from, into, tenantID, prefix string) (string, error) {
	columns, values, err := literalRow(ctx, db, from, tenantID, map[string]string{"id": "'" + prefix + "' || lpad(CAST(:n AS text), 26, '0')"})
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s);\n", into, columns, values), err
}

// literalRow returns the columns of a tenant's row and their values in SQL, with others in
// place of some.
func literalRow(ctx context.Context, db *sql.DB, from, tenantID string, instead map[string]string) (columns, values string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT * FROM `+from+` WHERE tenant_id = $1`, tenantID)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = rows.Close() }() // only read
	types, err := rows.ColumnTypes()
	if err != nil {
		return "", "", err
	}
	texts, scanned := make([]sql.NullString, len(types)), make([]any, len(types))
	for i := range texts {
		scanned[i] = &texts[i]
	}
	if !rows.Next() {
		return "", "", fmt.Errorf("what was created is not in the table %s: %w", from, rows.Err())
	}
	if err := rows.Scan(scanned...); err != nil {
		return "", "", err
	}
	var names, literals []string
	for i, t := range types {
		value, replaced := instead[t.Name()]
		switch {
		case replaced:
		case !texts[i].Valid:
			value = "NULL"
		case t.DatabaseTypeName() == "TIMESTAMPTZ":
			value = "now()"
		default:
			value = pgbenchLiteral(texts[i].String)
		}
		names, literals = append(names, t.Name()), append(literals, value)
	}
	return strings.Join(names, ", "), strings.Join(literals, ", "), rows.Err()
}

func (r *createTrigger) baseline(ctx context.Context, period time.Duration) (load, error) {
	return r.env.runWrk(ctx, r.bare.url, r.request, r.connections, period)
}

// gateway also counts the rows: each acknowledged trigger must be there.
func (r *createTrigger) gateway(ctx context.Context, period time.Duration) (load, error) {
	before, err := r.env.database.count(ctx, "triggers")
	if err != nil {
		return load{}, err
	}
	q := r.request
	if r.withKey {
		q.IdempotencyPrefix = "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	}
	found, err := r.env.loadGateway(ctx, q, r.connections, period)
	if err != nil {
		return load{}, err
	}
	after, err := r.env.database.count(ctx, "triggers")
	if err != nil {
		return load{}, err
	}
	if added := after - before; added < found.requests {
		return load{}, fmt.Errorf("%d triggers were acknowledged, but only %d are in the table", found.requests, added)
	}
	return found, nil
}
