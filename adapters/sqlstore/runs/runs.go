package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// repository keeps each run in one row: what it was started with, which is written once; what
// lists and workers look for, in columns of their own; and what its nodes did, as
// [run.EncodeProgress] writes it. Only large outputs have rows of their own.
type repository struct{ *unit }

var _ outbound.RunRepository = repository{}

// What a list shows of a run, and all of it.
const (
	summaryColumns = `id, tenant_id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id, dedupe_key, cause, status, seq,
		failure_code, failure_message, failure_node, created_at, updated_at, started_at, finished_at, wake_at, parent_run_id, parent_node_id, rerun_of, replay_of, item_index`
	// The payload of a run is its own, or one that it shares.
	payloadColumn = `CASE WHEN payload_id IS NULL THEN payload
		ELSE (SELECT p.payload FROM run_payloads p WHERE p.tenant_id = runs.tenant_id AND p.id = runs.payload_id) END`
	payloadSize = `CASE WHEN payload_id IS NULL THEN octet_length(payload)
		ELSE (SELECT octet_length(p.payload) FROM run_payloads p WHERE p.tenant_id = runs.tenant_id AND p.id = runs.payload_id) END`

	wholeSize = `(octet_length(progress) + outputs + coalesce(` + payloadSize + `, 0) + item_size)`

	// loopColumn is the node whose body a run executes; empty for none.
	loopColumn = `CASE WHEN item_index IS NULL THEN '' ELSE parent_node_id END`

	// What the run of an item has is kept with its parent.
	ofParent    = ` FROM run_items i WHERE i.tenant_id = runs.tenant_id AND i.run_id = runs.parent_run_id AND i.node_id = runs.parent_node_id`
	outerColumn = `CASE WHEN item_index IS NOT NULL THEN (SELECT i.items ->> 0` + ofParent + ` AND i.idx = -1) END`
)

var (
	itemColumn = fmt.Sprintf(`CASE WHEN item_index IS NOT NULL THEN (SELECT i.items ->> (runs.item_index - i.idx)`+ofParent+` AND i.idx = runs.item_index / %[1]d * %[1]d) END`, itemsPerRow)

	wholeColumns = wholeRun(payloadColumn, "progress", itemColumn, outerColumn)

	// leasedColumns are the same without what makes a run large, and without what it shares with others.
	leasedColumns = wholeRun(ifSmall("payload"), ifSmall("progress"), ifSmall(itemColumn), "NULL") + `, payload_id`

	// itemColumns are the same without what the runs of items share.
	itemColumns = wholeRun(`'null'`, "progress", itemColumn, "NULL")
)

func wholeRun(payload, progress, item, outer string) string {
	return summaryColumns + `, trigger_name, trigger_type, ` + payload + ` AS payload, max_retries, backoff_ms, max_backoff_ms, timeout_ms, parent_waits, depth, ` +
		progress + ` AS progress, outputs, lane, lane_limit, ` + wholeSize + ` AS size, snapshot_id, engine, ` + item + ` AS item, ` + outer + ` AS outer_given`
}

func ifSmall(column string) string {
	return fmt.Sprintf(`CASE WHEN %s <= %d THEN %s END`, wholeSize, outbound.LargeRunBytes, column)
}

type summaryRow struct {
	ID             string     `db:"id"`
	Tenant         string     `db:"tenant_id"`
	SubTenant      string     `db:"sub_tenant_id"`
	Workflow       string     `db:"workflow_id"`
	Version        string     `db:"workflow_version_id"`
	Trigger        string     `db:"trigger_id"`
	Entity         string     `db:"entity_id"`
	DedupeKey      string     `db:"dedupe_key"`
	Cause          string     `db:"cause"`
	Status         string     `db:"status"`
	Seq            int64      `db:"seq"`
	FailureCode    *string    `db:"failure_code"`
	FailureMessage *string    `db:"failure_message"`
	FailureNode    *string    `db:"failure_node"`
	CreatedAt      time.Time  `db:"created_at"`
	UpdatedAt      time.Time  `db:"updated_at"`
	StartedAt      *time.Time `db:"started_at"`
	FinishedAt     *time.Time `db:"finished_at"`
	WakeAt         *time.Time `db:"wake_at"`
	Parent         string     `db:"parent_run_id"`
	ParentNode     string     `db:"parent_node_id"`
	RerunOf        *string    `db:"rerun_of"`
	ReplayOf       *string    `db:"replay_of"`
	Index          *int       `db:"item_index"`
}

// Targets are where the columns of a list go.
func (row *summaryRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.SubTenant, &row.Workflow, &row.Version, &row.Trigger, &row.Entity, &row.DedupeKey, &row.Cause, &row.Status, &row.Seq,
		&row.FailureCode, &row.FailureMessage, &row.FailureNode, &row.CreatedAt, &row.UpdatedAt, &row.StartedAt, &row.FinishedAt, &row.WakeAt,
		&row.Parent, &row.ParentNode, &row.RerunOf, &row.ReplayOf, &row.Index,
	}
}

// Size is the length of its texts.
func (row *summaryRow) Size() int {
	return len(row.Entity) + len(row.DedupeKey) + core.TextLen(row.FailureMessage)
}

// SizeSQL is the same, of the columns.
func (*summaryRow) SizeSQL() string {
	return `octet_length(entity_id) + octet_length(dedupe_key) + coalesce(octet_length(failure_message), 0)`
}

func (row summaryRow) failure() *run.Failure {
	if row.FailureCode == nil {
		return nil
	}
	return &run.Failure{Code: *row.FailureCode, Message: *row.FailureMessage, Node: workflow.NodeID(*row.FailureNode)}
}

func (row summaryRow) summary() (run.Summary, error) {
	return run.Summary{
		ID: run.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Workflow: workflow.ID(row.Workflow),
		Version: workflow.VersionID(row.Version), Trigger: trigger.ID(row.Trigger), Entity: row.Entity, DedupeKey: row.DedupeKey,
		Cause: run.Cause(row.Cause), Status: run.Status(row.Status), Seq: row.Seq, Failure: row.failure(),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), StartedAt: core.InUTC(row.StartedAt), FinishedAt: core.InUTC(row.FinishedAt),
		WakeAt: core.InUTC(row.WakeAt), Parent: run.ID(row.Parent), ParentNode: workflow.NodeID(row.ParentNode), RerunOf: orNone[run.ID](row.RerunOf), ReplayOf: orNone[string](row.ReplayOf), Index: row.Index,
	}, nil
}

// orNone is empty for null.
func orNone[T ~string](text *string) T {
	if text == nil {
		return ""
	}
	return T(*text)
}

type runRow struct {
	summaryRow
	TriggerName string
	TriggerType string
	Payload     []byte
	MaxRetries  int
	Backoff     int64
	MaxBackoff  int64
	Timeout     int64
	ParentWaits bool
	Depth       int
	Progress    []byte
	OutputsSize int64
	Lane        string
	LaneLimit   int
	Size        int64 // of payload, progress and outputs
	Snapshot    *string
	Engine      string
	Item        []byte
	Outer       []byte

	SharedPayload *string // its id, where the payload itself was left out

	Outputs map[workflow.NodeID]json.RawMessage // from rows of their own
}

// Targets are where [wholeColumns] go.
func (row *runRow) Targets() []any {
	return append(row.summaryRow.Targets(), &row.TriggerName, &row.TriggerType, &row.Payload, &row.MaxRetries, &row.Backoff, &row.MaxBackoff, &row.Timeout, &row.ParentWaits, &row.Depth,
		&row.Progress, &row.OutputsSize, &row.Lane, &row.LaneLimit, &row.Size, &row.Snapshot, &row.Engine, &row.Item, &row.Outer)
}

func (row *runRow) restore() (*run.Run, error) {
	if row.Payload == nil {
		return nil, fmt.Errorf("run %s: the payload that it shares is gone", row.ID)
	}
	progress, err := row.progress()
	if err != nil {
		return nil, err
	}
	failure := row.failure()
	if failure != nil { // of which edge, its progress knows
		failure.Edge = progress.FailedEdge(failure.Node)
	}
	index := 0
	if row.Index != nil {
		index = *row.Index
	}
	return run.Restore(run.State{
		Origin: run.Origin{
			Index: index, Item: row.Item, Outer: row.Outer,
			ID: run.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Workflow: workflow.ID(row.Workflow),
			Version: workflow.VersionID(row.Version), Snapshot: orNone[run.SnapshotID](row.Snapshot), RerunOf: orNone[run.ID](row.RerunOf), ReplayOf: orNone[string](row.ReplayOf),
			Trigger: trigger.ID(row.Trigger), TriggerName: row.TriggerName,
			TriggerType: trigger.Type(row.TriggerType), Engine: run.Engine(row.Engine), Entity: row.Entity, DedupeKey: row.DedupeKey, Cause: run.Cause(row.Cause),
			Payload: json.RawMessage(row.Payload),
			Retry:   workflow.RetryPolicy{MaxRetries: row.MaxRetries, Backoff: fromMillis(row.Backoff), MaxBackoff: fromMillis(row.MaxBackoff)},
			Timeout: fromMillis(row.Timeout), CreatedAt: row.CreatedAt.UTC(),
			Parent: run.ID(row.Parent), ParentNode: workflow.NodeID(row.ParentNode), ParentWaits: row.ParentWaits, Depth: row.Depth, Lane: run.Lane{Name: row.Lane, Limit: row.LaneLimit},
		},
		Status: run.Status(row.Status), Seq: row.Seq, UpdatedAt: row.UpdatedAt.UTC(), StartedAt: core.InUTC(row.StartedAt),
		FinishedAt: core.InUTC(row.FinishedAt), WakeAt: core.InUTC(row.WakeAt), Failure: failure, Progress: progress,
	}), nil
}

func fromMillis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// isLarge says that only the rest of the run was read.
func (row *runRow) isLarge() bool { return row.Progress == nil }

// scan reads whole runs.
func (s repository) scan(ctx context.Context, what, query string, args ...any) (rows []runRow, err error) {
	err = s.EachRow(ctx, what, func(found *sql.Rows) error {
		rows = append(rows, runRow{})
		return found.Scan(rows[len(rows)-1].Targets()...)
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return rows, s.readOutputs(ctx, rows)
}

// Get reads a run. Where it locks it, it first locks what workers see of it, as who records a
// step does.
func (s repository) Get(ctx context.Context, scope tenant.Scope, id run.ID) (*run.Run, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), string(id))
	query := `SELECT ` + wholeColumns + ` FROM runs WHERE tenant_id = $1 AND id = $2` + in
	if lock := s.ForUpdate(); lock != "" {
		query = `WITH lane AS MATERIALIZED (SELECT count(` + s.store.dialect.LockLane("tenant_id || '"+laneSeparator+"' || lane") + `) AS n
			FROM live_runs WHERE tenant_id = $1 AND id = $2 AND lane <> ''), held AS MATERIALIZED (
			SELECT 1 FROM live_runs WHERE tenant_id = $1 AND id IN ($2, (SELECT parent_run_id FROM runs WHERE tenant_id = $1 AND id = $2)) AND (SELECT n FROM lane) >= 0
			ORDER BY id` + lock + `) ` +
			query + ` AND (SELECT count(*) FROM held) >= 0` + lock
	}
	rows, err := s.scan(ctx, "get run", query, args...)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, core.NotFound(sql.ErrNoRows, "run_not_found", "There is no such run.")
	case rows[0].Payload == nil && s.ForUpdate() != "":
		// Another unit, which the lock waited for, has just had the payload shared: the statement sees the row as it
		// is now, and what it shares as it was before.
		return nil, s.Fail(&core.Collision{Cause: errPayloadShared})
	default:
		return rows[0].restore()
	}
}

var errPayloadShared = errors.New("another unit had the payload of the run shared")

// dueAt is when a run needs a worker, nil for never. ready says that it does at once:
// then the time is the run's, and another one only if clocks disagree.
func dueAt(st run.State) (at *time.Time, ready bool) {
	switch {
	case st.Status.Finished():
		return nil, false
	case st.Status == run.StatusPending:
		return &st.CreatedAt, true
	}
	if len(st.Begin)+len(st.Consider) > 0 {
		return &st.UpdatedAt, true // it has more to compute
	}
	for i := range st.Nodes {
		if n := &st.Nodes[i]; n.Status == run.NodeRunning && n.RetryAt == nil {
			return &st.UpdatedAt, true
		}
	}
	return st.WakeAt, false
}

var errUnit = errors.New("runs are started, recorded and claimed in units that write")
