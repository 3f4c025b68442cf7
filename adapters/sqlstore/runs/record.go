package runs

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

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
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
func (d dialect) keptBefore(row string) string {
	if d.StorageShard == "" {
		return ""
	}
	return `, kept_before = ` + row + `.kept`
}

// countBytes adds the sum of an expression over the rows of a common table to what their
// tenants keep, in the order of the tenants, so that two units never wait for each other.
func (d dialect) countBytes(bytes, of string) string {
	if !run.AccountingEnabled {
		return `counted AS (SELECT 1)`
	}
	return `counted AS (
			INSERT INTO tenant_storage (tenant_id, shard, bytes)
			SELECT tenant_id, ` + d.StorageShard + `, sum(` + bytes + `) FROM ` + of + ` GROUP BY tenant_id HAVING sum(` + bytes + `) <> 0 ORDER BY tenant_id
			ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes
		)`
}

const appendHistory = `INSERT INTO run_history (tenant_id, run_id, seq, entries) `

// Record writes steps in the order of their tenants, whose bytes it counts: all in one statement
// where the database can, else one after another.
func (s repository) Record(ctx context.Context, steps ...outbound.RunStep) error {
	if !s.InTransaction() || !s.Writes() {
		return s.Fail(errUnit)
	}
	steps = slices.Clone(steps)
	slices.SortStableFunc(steps, func(a, b outbound.RunStep) int { return cmp.Compare(a.Run.Tenant(), b.Run.Tenant()) })
	rows := make([]stepRow, len(steps))
	for i, step := range steps {
		var err error
		if rows[i], err = stepRowOf(step); err != nil {
			return s.Fail(err)
		}
	}
	bounded := lanesLeft(steps)
	if err := s.lock(ctx, bounded); err != nil {
		return err
	}
	if err := s.holdFamilies(ctx, steps); err != nil {
		return err
	}
	record := s.recordOneByOne
	if s.store.record != "" {
		record = s.recordSmall
	}
	if err := record(ctx, rows); err != nil {
		return err
	}
	if err := s.letGo(ctx, bounded); err != nil {
		return err
	}
	for i := range steps {
		s.countHistory(steps[i].Run.Tenant(), steps[i].History)
		st := steps[i].Run.State()
		if err := s.addOutputs(ctx, &st, steps[i].From); err != nil {
			return err
		}
		if s.ListsFollowed(st.Tenant) {
			s.NoteLists(change.OfStep(steps[i].Run, steps[i].History)...)
		}
	}
	return s.wakeFamilies(ctx, steps)
}

// leaseHeld fences what workers see of a run by the lease of a step that has one.
const leaseHeld = ` AND ($3 = 0 OR lease = $3 AND lease_until IS NOT NULL)`

const endRun = `DELETE FROM live_runs WHERE tenant_id = $1 AND id = $2` + leaseHeld

func (d dialect) moveRun() string {
	return `UPDATE live_runs SET seq = $4, size = $5, due_at = ` + d.orWoken("live_runs", "$9", d.notAhead("$6", "$7")) + `, lease_until = CASE WHEN $8 THEN NULL ELSE lease_until END, alone = 0
		WHERE tenant_id = $1 AND id = $2` + leaseHeld
}

func (d dialect) reviveRun() string {
	return `INSERT INTO live_runs (tenant_id, id, seq, size, due_at, trigger_id, workflow_id, lane, lane_limit, engine, needs_level)
		SELECT tenant_id, id, $4, $5, ` + d.notAhead("$6", "$7") + `, $10, $11, $12, $13, engine, ` + levelOf("runs", levelToGoOn("runs")) + ` FROM runs WHERE tenant_id = $1 AND id = $2`
}

// orWoken is a time, or now where a live run has been woken since a worker last looked.
func (d dialect) orWoken(live, seen, at string) string {
	return `CASE WHEN ` + live + `.woken > ` + seen + ` THEN ` + d.Clock + ` ELSE ` + at + ` END`
}

// notAhead is a time, or that of the database's clock where it is to be at once and somebody
// else's clock is ahead.
func (d dialect) notAhead(at, atOnce string) string {
	return `CASE WHEN ` + atOnce + ` AND ` + at + ` > ` + d.Clock + ` THEN ` + d.Clock + ` ELSE ` + at + ` END`
}

// recordStep is the statement for one step.
func (d dialect) recordStep() string {
	return `UPDATE runs AS u SET status = $1, seq = $2, progress = $3, failure_code = $4, failure_message = $5, failure_node = $6, updated_at = $7,
			started_at = $8, finished_at = $9, wake_at = $10, awaits = $11, awaited = $12, outputs = $13, kept = ` + keptAfter("u", "$14") + d.keptBefore("u") + `
		WHERE tenant_id = $15 AND id = $16 AND seq = $17`
}

// recordOneByOne writes each step by several statements.
func (s repository) recordOneByOne(ctx context.Context, rows []stepRow) error {
	for i := range rows {
		row := &rows[i]
		held, err := s.moveLive(ctx, row)
		if err == nil && held {
			var n int64
			n, err = s.Exec(ctx, "record step", s.store.dialect.recordStep(), row.Status, row.Seq, row.Progress, row.FailureCode, row.FailureMessage, row.FailureNode,
				row.UpdatedAt, row.StartedAt, row.FinishedAt, row.WakeAt, row.Awaits, row.Awaited, row.Outputs, len(row.Progress)+len(row.Entries)+row.Outputs,
				row.Tenant, row.ID, row.From)
			held = n == 1
		}
		switch {
		case err != nil:
			return err
		case !held:
			return s.Fail(s.stale(ctx, tenant.ID(row.Tenant), run.ID(row.ID)))
		case row.Entries == "":
			continue
		}
		if _, err = s.Exec(ctx, "append history", appendHistory+`VALUES ($1, $2, $3, $4)`, row.Tenant, row.ID, row.Last, row.Entries); err != nil {
			return err
		}
	}
	return nil
}

// moveLive changes what workers see of a run. It says whether the lease of the step is good, if it
// has one.
func (s repository) moveLive(ctx context.Context, row *stepRow) (held bool, err error) {
	var n int64
	if row.FinishedAt != nil {
		n, err = s.Exec(ctx, "end run", endRun, row.Tenant, row.ID, row.Lease)
		return n == 1 || row.Lease == 0, err
	}
	args := []any{row.Tenant, row.ID, row.Lease, row.Seq, row.Size, row.DueAt, row.Ready, row.Ends, row.Woken}
	n, err = s.Exec(ctx, "move run", s.store.dialect.moveRun(), args...)
	if err != nil || n == 1 || row.Lease != 0 {
		return n == 1, err
	}
	// It had finished, or is not there.
	_, err = s.Exec(ctx, "revive run", s.store.dialect.reviveRun(), append(args, row.Trigger, row.Workflow, row.Lane, row.LaneLimit)...)
	return true, err
}

// asText is a text without a copy of it, which can be megabytes. Nobody changes it any more.
func asText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// stale tells a run that is gone from one that has moved on.
func (s repository) stale(ctx context.Context, owner tenant.ID, id run.ID) error {
	var seq int64
	err := s.ReadRow(ctx, "find run", &seq, `SELECT seq FROM runs WHERE tenant_id = $1 AND id = $2`, string(owner), string(id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return core.NotFound(err, "run_not_found", "There is no such run.")
	case err != nil:
		return err
	default:
		return domain.Fail(domain.Conflict, "stale_run", "The run has moved on in the meantime. Read it again and repeat what you did.")
	}
}

// entryJSON is how an entry is kept. Times are Unix milliseconds.
type entryJSON struct {
	Seq     int64    `json:"seq"`
	At      int64    `json:"at"`
	Type    string   `json:"type"`
	Node    string   `json:"node,omitempty"`
	Edge    string   `json:"edge,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Branch  string   `json:"branch,omitempty"`
	Code    string   `json:"code,omitempty"`
	Message string   `json:"message,omitempty"`
	Until   *int64   `json:"until,omitempty"`
	Log     []string `json:"log,omitempty"`

	Question json.RawMessage `json:"question,omitempty"`
	By       *actorJSON      `json:"by,omitempty"`

	Redacted bool `json:"redacted,omitempty"`
}

func encodeEntries(history []run.Entry) (string, error) {
	kept := make([]entryJSON, len(history))
	for i, e := range history {
		kept[i] = entryJSON{
			Seq: e.Seq, At: e.At.UnixMilli(), Type: string(e.Type), Node: string(e.Node), Edge: string(e.Edge), Attempt: e.Attempt,
			Branch: e.Branch, Code: e.Code, Message: e.Message, Log: e.Log, Redacted: e.Redacted,
		}
		if e.Until != nil {
			until := e.Until.UnixMilli()
			kept[i].Until = &until
		}
		if e.Question != nil {
			kept[i].Question = run.EncodeQuestion(e.Question)
		}
		kept[i].By = (*actorJSON)(e.By)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("encode history: %w", err)
	}
	return string(text), nil
}

func (e entryJSON) entry() (run.Entry, error) {
	entry := run.Entry{
		Seq: e.Seq, At: time.UnixMilli(e.At).UTC(), Type: run.EntryType(e.Type), Node: workflow.NodeID(e.Node), Edge: workflow.EdgeID(e.Edge),
		Attempt: e.Attempt, Branch: e.Branch, Code: e.Code, Message: e.Message, Log: e.Log, Redacted: e.Redacted,
	}
	if e.Until != nil {
		until := time.UnixMilli(*e.Until).UTC()
		entry.Until = &until
	}
	entry.By = (*tenant.Actor)(e.By)
	var err error
	if e.Question != nil {
		entry.Question, err = run.DecodeQuestion(e.Question)
	}
	return entry, err
}

// actorJSON is how it is kept who did something.
type actorJSON struct {
	Kind    tenant.ActorKind `json:"kind"`
	ID      string           `json:"id,omitempty"`
	Subject string           `json:"subject,omitempty"`
}

const runOfHistory = `EXISTS (SELECT 1 FROM runs p WHERE p.tenant_id = run_history.tenant_id AND p.id = run_history.run_id AND `

// byRun is what holds for the history within a narrow scope.
var byRun = core.ScopeCondition{SubTenant: runOfHistory + `p.sub_tenant_id = %[1]s)`, Workflow: runOfHistory + `p.workflow_id IN (%[1]s))`}

// maxHistory is how many steps of a history are read at once: each may bear a log.
const maxHistory = 100

// History reads the entries after one.
func (s repository) History(ctx context.Context, scope tenant.Scope, id run.ID, after int64) (history []run.Entry, more bool, err error) {
	in, args := core.Within(scope, byRun, string(id), after, maxHistory)
	var steps []string
	err = s.ReadRows(ctx, "read history", &steps, `SELECT entries FROM run_history WHERE tenant_id = $1 AND run_id = $2 AND seq > $3`+in+` ORDER BY seq LIMIT $4`, args...)
	if err != nil {
		return nil, false, err
	}
	for _, text := range steps {
		var kept []entryJSON
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return nil, false, fmt.Errorf("run %s: history: %w", id, err)
		}
		for _, e := range kept {
			if e.Seq <= after {
				continue
			}
			entry, err := e.entry()
			if err != nil {
				return nil, false, fmt.Errorf("run %s: history: %w", id, err)
			}
			history = append(history, entry)
		}
	}
	return history, len(steps) == maxHistory, nil
}
