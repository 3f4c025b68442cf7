package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/lib/pq"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/deploy/harness"
)

// startInserts starts the baseline of POST /triggers: a handler that puts rows like that of a
// trigger into the bare table, those that wait in one statement, and answers with their bodies. It
// has the gateway's framework and driver, and no key, limit, rule, reference, total, log or trace.
func (e *env) startInserts(ctx context.Context, like *createTrigger) (*bareServer, error) {
	columns, many, err := literalRow(ctx, e.database.DB, "triggers", like.tenant, map[string]string{"id": "a.id", "config": "a.body"})
	if err != nil {
		return nil, err
	}
	_, one, err := literalRow(ctx, e.database.DB, "triggers", like.tenant, map[string]string{"id": "$1::text", "config": "$2::text"})
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
	file, err := e.writeFile("inserts.json", text)
	if err != nil {
		return nil, err
	}
	return e.startBare(ctx, "inserts-"+like.about().name, insertsCommand, "/triggers", e.database.URL, file)
}

// insertStatements put an identifier and a body, or arrays of them, into the database.
type insertStatements struct{ One, Many string }

// insertsCommand is the sub-command that runs the handler: inserts PATH DATABASE-URL FILE
// takes bodies at the path and puts them into the database with the file's statements,
// [insertStatements] in JSON.
const insertsCommand = "inserts"

func serveInserts(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 3 {
		return fmt.Errorf("%w: %s takes a path, a database's URL and a file", harness.ErrUsage, insertsCommand)
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
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	inserts := batch.New(batch.Limits{Members: largestBatch, Running: 1}, nil, func(ctx context.Context, bodies []string) (err error) {
		ids := make(pq.StringArray, len(bodies))
		for i := range ids {
			ids[i] = "trg_" + strconv.FormatInt(last.Add(1), 10)
		}
		if len(ids) == 1 {
			_, err = one.ExecContext(ctx, ids[0], bodies[0])
		} else {
			_, err = many.ExecContext(ctx, ids, pq.StringArray(bodies))
		}
		return err
	})
	engine := newEngine()
	engine.POST(harness.APIPath+args[0], func(c *gin.Context) {
		body, err := io.ReadAll(c.Request.Body)
		if err == nil {
			err = inserts.Do(c.Request.Context(), string(body))
		}
		if err != nil {
			c.String(http.StatusInternalServerError, err.Error())
			return
		}
		c.Data(http.StatusCreated, jsonType, body)
	})
	return serve(ctx, engine, stdout)
}

// largestBatch is more than there are connections.
const largestBatch = 1000
