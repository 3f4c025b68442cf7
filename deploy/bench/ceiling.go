package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/lib/pq"
)

// ceiling measures how much of the baseline of POST /triggers is left for any gateway on
// this machine: what a handler gets that reads a body, puts it into the bare table in one
// statement with those that wait beside it, and answers with it. It has the gateway's
// framework and driver, and no key, limit, rule, reference, total, log or trace.
type ceiling struct{}

func (ceiling) name() string { return "ceiling" }

func (ceiling) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	var found []figure
	for _, connections := range []int{64, 1} {
		like := &createTrigger{connections: connections}
		if err := like.prepare(ctx, st); err != nil {
			return nil, err
		}
		bare, err := startInserts(ctx, st, like.tenant)
		if err != nil {
			return nil, err
		}
		ratios, rates, baselines, err := compare(ctx, st, o, like, bare.baseURL)
		bare.stop()
		if err != nil {
			return nil, err
		}
		found = append(found, newFigure("ceiling-"+strconv.Itoa(connections),
			fmt.Sprintf("a handler that only inserts, %s, against the baseline of POST /triggers", manyConnections(connections)), "times", 0, ratios...).
			because("%.0f/s against %.0f/s", newFigure("", "", "", 0, rates...).Value, newFigure("", "", "", 0, baselines...).Value))
	}
	return found, nil
}

func manyConnections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return strconv.Itoa(n) + " connections"
}

// compare takes turns between the baseline and the handler, after a warm-up of both.
func compare(ctx context.Context, st *stage, o options, like *createTrigger, baseURL string) (ratios, rates, baselines []float64, err error) {
	for i := range o.rounds + 1 {
		slice := o.slice
		if i == 0 {
			slice = warmUp
		}
		base, err := like.baseline(ctx, slice)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the baseline: %w", err)
		}
		load, err := st.makeLoad(ctx, baseURL, like.ask, like.connections, slice)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the handler: %w", err)
		}
		if i > 0 {
			ratios, rates, baselines = append(ratios, load.perSecond/base), append(rates, load.perSecond), append(baselines, base)
		}
	}
	return ratios, rates, baselines, nil
}

// startInserts starts the handler on the bare table, into which it puts rows like that of
// the tenant.
func startInserts(ctx context.Context, st *stage, tenantID string) (*bareServer, error) {
	columns, many, err := literalRow(ctx, st.database.db, "triggers", tenantID, map[string]string{"id": "a.id", "config": "a.body"})
	if err != nil {
		return nil, err
	}
	_, one, err := literalRow(ctx, st.database.db, "triggers", tenantID, map[string]string{"id": "$1::text", "config": "$2::text"})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(insertStatements{
		One:  fmt.Sprintf("INSERT INTO bench_triggers (%s) VALUES (%s)", columns, one),
		Many: fmt.Sprintf("INSERT INTO bench_triggers (%s) SELECT %s FROM unnest($1::text[], $2::text[]) AS a(id, body)", columns, many),
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(st.dir, "inserts.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return startBare(ctx, insertsCommand, "/v1/gateway/triggers", st.database.URL, file)
}

// insertStatements put an identifier and a body, or arrays of them, into the database.
type insertStatements struct{ One, Many string }

// insertsCommand is the sub-command that runs the handler: inserts PATH DATABASE-URL FILE
// takes bodies at the path and puts them into the database with the file's statements,
// [insertStatements] in JSON.
const insertsCommand = "inserts"

func serveInserts(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 3 {
		return fmt.Errorf("%w: %s takes a path, a database's URL and a file", errUsage, insertsCommand)
	}
	text, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	var statements insertStatements
	if err := json.Unmarshal(text, &statements); err != nil {
		return err
	}
	db, err := sql.Open("postgres", args[1])
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is pending
	one, err := db.PrepareContext(ctx, statements.One)
	if err != nil {
		return err
	}
	defer func() { _ = one.Close() }() // closed with the database
	many, err := db.PrepareContext(ctx, statements.Many)
	if err != nil {
		return err
	}
	defer func() { _ = many.Close() }() // closed with the database
	together := &inserts{one: one, many: many, first: time.Now().UnixNano()}
	engine := newEngine()
	engine.POST(args[0], func(c *gin.Context) {
		body, err := io.ReadAll(c.Request.Body)
		if err == nil {
			err = together.add(string(body))
		}
		if err != nil {
			c.String(http.StatusInternalServerError, err.Error())
			return
		}
		c.Data(http.StatusCreated, jsonType, body)
	})
	return serve(ctx, engine, stdout)
}

// inserts puts what arrives while a statement runs into the database with the next one.
type inserts struct {
	one, many *sql.Stmt

	mu      sync.Mutex
	first   int64 // the next identifier
	waiting *batch
	running bool
}

// batch is what goes together. Its first entry runs the statement.
type batch struct {
	ids, bodies []string
	turn, done  chan struct{}
	err         error
}

func (q *inserts) add(body string) error {
	q.mu.Lock()
	leads := q.waiting == nil
	if leads {
		q.waiting = &batch{turn: make(chan struct{}), done: make(chan struct{})}
		if !q.running {
			q.running = true
			close(q.waiting.turn)
		}
	}
	b := q.waiting
	q.first++
	b.ids, b.bodies = append(b.ids, "trg_"+strconv.FormatInt(q.first, 10)), append(b.bodies, body)
	q.mu.Unlock()
	if !leads {
		<-b.done
		return b.err
	}
	<-b.turn
	q.mu.Lock()
	q.waiting = nil
	q.mu.Unlock()
	b.err = q.insert(b)
	q.mu.Lock()
	if q.running = q.waiting != nil; q.running {
		close(q.waiting.turn)
	}
	q.mu.Unlock()
	close(b.done)
	return b.err
}

func (q *inserts) insert(b *batch) (err error) {
	ctx := context.Background() // nobody ends it
	if len(b.ids) == 1 {
		_, err = q.one.ExecContext(ctx, b.ids[0], b.bodies[0])
	} else {
		_, err = q.many.ExecContext(ctx, pq.StringArray(b.ids), pq.StringArray(b.bodies))
	}
	return err
}
