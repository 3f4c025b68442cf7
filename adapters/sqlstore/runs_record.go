package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// keptAfter is how many bytes of a run are counted from a step on that writes so many bytes:
// its progress, its history, and the large outputs that it has then.
func keptAfter(row, written string) string {
	return row + `.kept - octet_length(` + row + `.progress) - ` + row + `.outputs + CAST(` + written + ` AS bigint)`
}

// keptBefore makes the number from before a step available to RETURNING, where that is
// what counts the bytes.
func (d Dialect) keptBefore(row string) string {
	if d.StorageShard == "" {
		return ""
	}
	return `, kept_before = ` + row + `.kept`
}

// countBytes adds the sum of an expression over the rows of a common table to what their
// tenants keep, in the order of the tenants, so that two units never wait for each other.
func (d Dialect) countBytes(bytes, of string) string {
	return `counted AS (
			INSERT INTO tenant_storage (tenant_id, shard, bytes)
			SELECT tenant_id, ` + d.StorageShard + `, sum(` + bytes + `) FROM ` + of + ` GROUP BY tenant_id HAVING sum(` + bytes + `) <> 0 ORDER BY tenant_id
			ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes
		)`
}

// recordStep writes a step where nobody else has made one and the lease, if any, is
// good: it has the number of the last claim and was not ended. A lease that is to end
// is null from then on.
func (d Dialect) recordStep() string {
	return `UPDATE runs AS u SET status = $1, seq = $2, progress = $3, failure_code = $4, failure_message = $5, failure_node = $6, updated_at = $7,
			started_at = $8, finished_at = $9, wake_at = $10,
			due_at = CASE WHEN $12 AND $11 > ` + d.Clock + ` THEN ` + d.Clock + ` ELSE $11 END,
			lease_until = CASE WHEN $13 THEN NULL ELSE lease_until END, alone = 0, awaits = $14, awaited = $15,
			outputs = $21, kept = ` + keptAfter("u", "$20") + d.keptBefore("u") + `
		WHERE tenant_id = $16 AND id = $17 AND seq = $18 AND (CAST($19 AS bigint) = 0 OR lease = $19 AND lease_until IS NOT NULL)`
}

const appendHistory = `INSERT INTO run_history (tenant_id, run_id, seq, entries) `

// recordCounted writes a step and counts its bytes.
func (d Dialect) recordCounted() string {
	if !d.WritingWith {
		return d.recordStep()
	}
	return `WITH recorded AS (` + d.recordStep() + ` RETURNING tenant_id, kept, kept_before), ` + d.countBytes("kept - kept_before", "recorded") +
		` SELECT 1 FROM recorded`
}

// recordWithHistory does that and appends the history in one statement, empty where the
// database cannot.
func (d Dialect) recordWithHistory() string {
	if !d.WritingWith {
		return ""
	}
	return `WITH recorded AS (` + d.recordStep() + ` RETURNING tenant_id, id, kept, kept_before), ` + d.countBytes("kept - kept_before", "recorded") +
		` ` + appendHistory + `SELECT tenant_id, id, CAST($22 AS bigint), CAST($23 AS text) FROM recorded`
}

// Record writes steps several together where that is worth it, or one after another, in
// the order of the tenants whose bytes they count.
func (s runs) Record(ctx context.Context, steps ...outbound.RunStep) error {
	if rows, ok := s.together(steps); ok {
		return s.recordTogether(ctx, steps, rows)
	}
	steps = slices.Clone(steps)
	slices.SortStableFunc(steps, func(a, b outbound.RunStep) int { return cmp.Compare(a.Run.Tenant(), b.Run.Tenant()) })
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
		return s.fail(err)
	}
	byWorker := step.Lease.Number != 0
	progress := asText(run.EncodeProgress(st.Progress))
	statement, args := s.store.runs.record, []any{
		string(st.Status), st.Seq, progress, code, message, node, st.UpdatedAt,
		st.StartedAt, st.FinishedAt, st.WakeAt, due, ready, st.Status.Finished() || byWorker && !step.Keep,
		awaits, awaitedBy, string(st.Tenant), string(st.ID), step.From, step.Lease.Number,
	}
	var last int64 // entry of the step
	var entries string
	if n := len(step.History); n > 0 {
		if entries, err = encodeEntries(step.History); err != nil {
			return s.fail(err)
		}
		last = step.History[n-1].Seq
	}
	outputs := st.LargeOutputsSize()
	args = append(args, len(progress)+len(entries)+outputs, outputs)
	together := s.store.runs.recordWithHistory
	if last > 0 && together != "" {
		statement, args = together, append(args, last, entries)
	}
	n, err := s.exec(ctx, "record step", statement, args...)
	switch {
	case err != nil:
		return err
	case n != 1:
		return s.fail(s.stale(ctx, st.Tenant, st.ID))
	}
	if err := s.addOutputs(ctx, &st, step.From); err != nil || last == 0 || together != "" {
		return err
	}
	_, err = s.exec(ctx, "append history", appendHistory+`VALUES ($1, $2, $3, $4)`, string(st.Tenant), string(st.ID), last, entries)
	return err
}

// asText is a text without a copy of it, which can be megabytes. Nobody changes it any more.
func asText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

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
func (s runs) History(ctx context.Context, scope tenant.Scope, id run.ID, after int64) ([]run.Entry, error) {
	in, args := within(scope, byRun, string(id), after)
	var steps []string
	err := s.list(ctx, "read history", &steps, `SELECT entries FROM run_history WHERE tenant_id = $1 AND run_id = $2 AND seq > $3`+in+` ORDER BY seq`, args...)
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
