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

// createTrigger measures POST /triggers whole against pgbench putting one such row
// into a table with the same columns and indexes, and nothing else.
type createTrigger struct {
	connections int
	withKey     bool // every request has an idempotency key of its own

	env     *env
	tenant  string
	request loadRequest
	script  string // pgbench's
	rounds  int
}

// baselineConnections is what pgbench is given against many connections of the
// gateway: more do not make it faster on two cores.
const baselineConnections = 16

func (r *createTrigger) about() about {
	a := about{
		name: "triggers-" + strconv.Itoa(r.connections), aim: 1.2,
		what: fmt.Sprintf("POST /triggers, %d connections", r.connections),
	}
	if r.connections == 1 {
		a.aim, a.what = 0.6, "POST /triggers, 1 connection"
	}
	if r.withKey {
		a.name, a.what = a.name+"-key", a.what+", idempotency key"
	}
	return a
}

// prepare creates one trigger and makes the baseline's row of it.
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
	text, err := bareInsert(ctx, e.database.DB, ten.ID)
	if err != nil {
		return err
	}
	r.script, err = e.writeFile(r.about().name+".pgbench", []byte(text))
	return err
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

// bareInsert makes a table of the shape of the triggers', without its references
// and database triggers, and returns the pgbench script that adds the tenant's
// trigger to it again and again, under identifiers that grow as the gateway's do.
func bareInsert(ctx context.Context, db *sql.DB, tenantID string) (string, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bench_triggers (LIKE triggers INCLUDING ALL)`)
	if err != nil {
		return "", err
	}
	insert, err := bareRow(ctx, db, "triggers", "bench_triggers", tenantID, "trg_")
	return "\\set i :i + 1\n\\set n :i * 100 + :client_id\n" + insert, err
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

// spanOfRound is the identifiers that one measurement of the baseline may use on
// each connection.
const spanOfRound = 1_000_000_000

func (r *createTrigger) baseline(ctx context.Context, period time.Duration) (float64, error) {
	r.rounds++
	return r.env.database.pgbench(ctx, r.script, min(r.connections, baselineConnections), period,
		map[string]int{"i": r.rounds * spanOfRound})
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
