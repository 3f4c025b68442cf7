package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// recordStep writes a step where nobody else has made one and the lease, if any, is
// good: it has the number of the last claim and was not ended. A lease that is to end
// is null from then on.
func (d Dialect) recordStep() string {
	return `UPDATE runs SET status = $1, seq = $2, progress = $3, failure_code = $4, failure_message = $5, failure_node = $6, updated_at = $7,
			started_at = $8, finished_at = $9, wake_at = $10,
			due_at = CASE WHEN $12 AND $11 > ` + d.Clock + ` THEN ` + d.Clock + ` ELSE $11 END,
			lease_until = CASE WHEN $13 THEN NULL ELSE lease_until END, awaits = $14, awaited = $15, awaits_seq = $2
		WHERE tenant_id = $16 AND id = $17 AND seq = $18 AND (CAST($19 AS bigint) = 0 OR lease = $19 AND lease_until IS NOT NULL)`
}

const appendHistory = `INSERT INTO run_history (tenant_id, run_id, seq, entries) `

// recordWithHistory does both in one statement, empty where the database cannot.
func (d Dialect) recordWithHistory() string {
	if !d.WritingWith {
		return ""
	}
	return `WITH recorded AS (` + d.recordStep() + ` RETURNING tenant_id, id) ` + appendHistory +
		`SELECT tenant_id, id, CAST($20 AS bigint), CAST($21 AS text) FROM recorded`
}

// Record writes steps one after another, or several together where that is worth it.
func (s runs) Record(ctx context.Context, steps ...outbound.RunStep) error {
	if rows, ok := s.together(steps); ok {
		return s.recordTogether(ctx, steps, rows)
	}
	for _, step := range steps {
		if err := s.recordOne(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// recordOne writes a step and appends its history: one statement or two, however much
// happened.
func (s runs) recordOne(ctx context.Context, step outbound.RunStep) error {
	st := step.Run.State()
	due, ready := dueAt(st)
	code, message, node := failureColumns(st.Failure)
	awaits, awaitedBy, err := awaitColumns(step.Run)
	if err != nil {
		return s.spoil(err)
	}
	byWorker := step.Lease.Number != 0
	statement, args := s.store.runs.record, []any{
		string(st.Status), st.Seq, string(run.EncodeProgress(st.Progress)), code, message, node, st.UpdatedAt,
		st.StartedAt, st.FinishedAt, st.WakeAt, due, ready, st.Status.Finished() || byWorker && !step.Keep,
		awaits, awaitedBy, string(st.Tenant), string(st.ID), step.From, step.Lease.Number,
	}
	var last int64 // entry of the step
	var entries string
	if n := len(step.History); n > 0 {
		if entries, err = encodeEntries(step.History); err != nil {
			return s.spoil(err)
		}
		last = step.History[n-1].Seq
	}
	together := s.store.runs.recordWithHistory
	if last > 0 && together != "" {
		statement, args = together, append(args, last, entries)
	}
	n, err := s.exec(ctx, "record step", statement, args...)
	switch {
	case err != nil:
		return err
	case n != 1:
		return s.spoil(s.stale(ctx, st.Tenant, st.ID))
	case last == 0 || together != "":
		return nil
	}
	_, err = s.exec(ctx, "append history", appendHistory+`VALUES ($1, $2, $3, $4)`, string(st.Tenant), string(st.ID), last, entries)
	return err
}

// stale tells a run that is gone from one that has moved on.
func (s runs) stale(ctx context.Context, owner tenant.ID, id run.ID) error {
	var seq int64
	err := s.get(ctx, "find run", &seq, `SELECT seq FROM runs WHERE tenant_id = $1 AND id = $2`, string(owner), string(id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return missing(err, "run_not_found", "There is no such run.")
	case err != nil:
		return err
	default:
		return domain.Fail(domain.Conflict, "stale_run", "The run has moved on in the meantime. Read it again and repeat what you did.")
	}
}

// entryJSON is how an entry is kept. Times are Unix milliseconds.
type entryJSON struct {
	Seq     int64  `json:"seq"`
	At      int64  `json:"at"`
	Type    string `json:"type"`
	Node    string `json:"node,omitempty"`
	Edge    string `json:"edge,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Until   *int64 `json:"until,omitempty"`
}

func encodeEntries(history []run.Entry) (string, error) {
	kept := make([]entryJSON, len(history))
	for i, e := range history {
		kept[i] = entryJSON{
			Seq: e.Seq, At: e.At.UnixMilli(), Type: string(e.Type), Node: string(e.Node), Edge: string(e.Edge), Attempt: e.Attempt,
			Branch: e.Branch, Code: e.Code, Message: e.Message,
		}
		if e.Until != nil {
			until := e.Until.UnixMilli()
			kept[i].Until = &until
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("encode history: %w", err)
	}
	return string(text), nil
}

func (e entryJSON) entry() run.Entry {
	entry := run.Entry{
		Seq: e.Seq, At: time.UnixMilli(e.At).UTC(), Type: run.EntryType(e.Type), Node: workflow.NodeID(e.Node), Edge: workflow.EdgeID(e.Edge),
		Attempt: e.Attempt, Branch: e.Branch, Code: e.Code, Message: e.Message,
	}
	if e.Until != nil {
		until := time.UnixMilli(*e.Until).UTC()
		entry.Until = &until
	}
	return entry
}

// History reads the entries after one.
func (s runs) History(ctx context.Context, owner tenant.ID, id run.ID, after int64) ([]run.Entry, error) {
	var steps []string
	err := s.list(ctx, "read history", &steps, `SELECT entries FROM run_history WHERE tenant_id = $1 AND run_id = $2 AND seq > $3 ORDER BY seq`,
		string(owner), string(id), after)
	if err != nil {
		return nil, err
	}
	var history []run.Entry
	for _, text := range steps {
		var kept []entryJSON
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return nil, fmt.Errorf("run %s: history: %w", id, err)
		}
		for _, e := range kept {
			if e.Seq > after {
				history = append(history, e.entry())
			}
		}
	}
	return history, nil
}
