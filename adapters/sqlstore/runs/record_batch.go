package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxBatch bounds the text of steps that are recorded together, in bytes: more of it
// gains nothing.
const maxBatch = 4 << 20

// stepRow is a step as it is written, and a row of [core.Dialect.Rows].
type stepRow struct {
	Tenant         string  `json:"tenant_id"`
	ID             string  `json:"id"`
	Trigger        string  `json:"trigger_id"`
	Workflow       string  `json:"workflow_id"`
	Status         string  `json:"status"`
	Seq            int64   `json:"seq"`
	From           int64   `json:"from_seq"`
	Lease          int64   `json:"number"`
	Ends           bool    `json:"ends"`  // the lease
	Woken          int64   `json:"woken"` // when its worker last looked
	Progress       string  `json:"progress"`
	Outputs        int     `json:"outputs"`
	Size           int     `json:"size"`
	FailureCode    *string `json:"failure_code,omitempty"`
	FailureMessage *string `json:"failure_message,omitempty"`
	FailureNode    *string `json:"failure_node,omitempty"`
	UpdatedAt      string  `json:"updated_at"`
	StartedAt      *string `json:"started_at,omitempty"`
	FinishedAt     *string `json:"finished_at,omitempty"`
	WakeAt         *string `json:"wake_at,omitempty"`
	DueAt          *string `json:"due_at,omitempty"`
	Ready          bool    `json:"ready"`
	Awaits         *string `json:"awaits,omitempty"`
	Awaited        *string `json:"awaited,omitempty"`
	Last           int64   `json:"last"` // entry of the step
	Entries        string  `json:"entries,omitempty"`
	Lane           string  `json:"lane"`
	LaneLimit      int     `json:"lane_limit"`
}

var stepColumns = []core.Column{
	{Name: "tenant_id"}, {Name: "id"}, {Name: "trigger_id"}, {Name: "workflow_id"}, {Name: "status"}, {Name: "seq"}, {Name: "from_seq"}, {Name: "number"}, {Name: "ends"}, {Name: "woken"},
	{Name: "progress"}, {Name: "outputs"}, {Name: "size"}, {Name: "failure_code"}, {Name: "failure_message"}, {Name: "failure_node"},
	{Name: "updated_at", Time: true}, {Name: "started_at", Time: true}, {Name: "finished_at", Time: true}, {Name: "wake_at", Time: true},
	{Name: "due_at", Time: true}, {Name: "ready"}, {Name: "awaits"}, {Name: "awaited"}, {Name: "last"}, {Name: "entries"}, {Name: "lane"}, {Name: "lane_limit"},
}

func stepRowOf(step outbound.RunStep) (row stepRow, err error) {
	st := step.Run.State()
	due, ready := dueAt(st)
	row = stepRow{
		Tenant: string(st.Tenant), ID: string(st.ID), Trigger: string(st.Trigger), Workflow: string(st.Workflow),
		Status: string(st.Status), Seq: st.Seq, From: step.From, Lease: step.Lease.Number,
		Ends: step.Lease.Number != 0 && !step.Keep, Woken: step.Woken,
		Progress: asText(run.EncodeProgress(st.Progress)), Outputs: st.LargeOutputsSize(),
		UpdatedAt: st.UpdatedAt.UTC().Format(core.TimeFormat), StartedAt: core.FormatTime(st.StartedAt), FinishedAt: core.FormatTime(st.FinishedAt),
		WakeAt: core.FormatTime(st.WakeAt), DueAt: core.FormatTime(due), Ready: ready, Lane: st.Lane.Name, LaneLimit: st.Lane.Limit,
	}
	row.Size = len(st.Payload) + len(row.Progress) + row.Outputs
	row.FailureCode, row.FailureMessage, row.FailureNode = failureColumns(st.Failure)
	if row.Awaits, row.Awaited, err = awaitColumns(step.Run); err != nil {
		return row, err
	}
	if n := len(step.History); n > 0 {
		row.Last = step.History[n-1].Seq
		row.Entries, err = encodeEntries(step.History)
	}
	return row, err
}

// recordSteps writes many steps, and returns the runs of those that were not refused; empty where
// that would take several statements anyway. What workers see of a run is locked first, by
// everybody and in the order of the identifiers, so that two units never wait for each other. The condition on the rows that is always
// true makes them few in the eyes of the planner, who looks up each run by its key then, also where
// there are no statistics yet.
func (d dialect) recordSteps() string {
	if !d.WritingWith {
		return ""
	}
	const held = `u.tenant_id = r.tenant_id AND u.id = r.id AND (CAST(r.number AS bigint) = 0 OR u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL)`
	due := d.notAhead("r.due_at", "CAST(r.ready AS boolean)")
	return `WITH steps AS MATERIALIZED (
		SELECT r.* FROM ` + d.Rows(1, stepColumns...) + ` WHERE r.id || '' = r.id
	), locked AS MATERIALIZED (
		SELECT u.id FROM steps r JOIN live_runs u ON ` + held + ` ORDER BY u.tenant_id, u.id FOR NO KEY UPDATE OF u
	), ended AS (
		DELETE FROM live_runs u USING steps r WHERE (SELECT count(*) FROM locked) > 0 AND r.finished_at IS NOT NULL AND ` + held + ` RETURNING u.tenant_id, u.id
	), moved AS (
		UPDATE live_runs u SET seq = CAST(r.seq AS bigint), size = CAST(r.size AS bigint), due_at = ` + d.orWoken("u", "CAST(r.woken AS bigint)", due) + `,
			lease_until = CASE WHEN CAST(r.ends AS boolean) THEN NULL ELSE u.lease_until END, alone = 0
		FROM steps r WHERE (SELECT count(*) FROM locked) > 0 AND r.finished_at IS NULL AND ` + held + ` RETURNING u.tenant_id, u.id
	), revived AS (
		INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at, lane, lane_limit, engine, needs_level)
		SELECT r.tenant_id, r.id, r.trigger_id, r.workflow_id, CAST(r.seq AS bigint), CAST(r.size AS bigint), ` + due + `, r.lane, CAST(r.lane_limit AS integer),
			coalesce((SELECT o.engine FROM runs o WHERE o.tenant_id = r.tenant_id AND o.id = r.id), 'table'),
			coalesce((SELECT ` + levelOf("o", levelToGoOn("o")) + ` FROM runs o WHERE o.tenant_id = r.tenant_id AND o.id = r.id), 0)
		FROM steps r WHERE r.finished_at IS NULL AND CAST(r.number AS bigint) = 0
		ON CONFLICT DO NOTHING RETURNING tenant_id, id
	), live AS (
		SELECT * FROM ended UNION ALL SELECT * FROM moved UNION ALL SELECT * FROM revived
	), recorded AS (
		UPDATE runs AS u SET status = r.status, seq = CAST(r.seq AS bigint), progress = r.progress, failure_code = r.failure_code,
			failure_message = r.failure_message, failure_node = r.failure_node, updated_at = r.updated_at, started_at = r.started_at,
			finished_at = r.finished_at, wake_at = r.wake_at, awaits = r.awaits, awaited = r.awaited, outputs = CAST(r.outputs AS bigint),
			kept = ` + keptAfter("u", "octet_length(r.progress) + coalesce(octet_length(r.entries), 0) + CAST(r.outputs AS bigint)") + d.keptBefore("u") + `
		FROM steps r
		WHERE (CAST(r.number AS bigint) = 0 OR (r.tenant_id, r.id) IN (SELECT l.tenant_id, l.id FROM live l)) AND u.tenant_id = r.tenant_id AND u.id = r.id AND u.seq = CAST(r.from_seq AS bigint)
		RETURNING u.tenant_id, u.id, r.last, r.entries, u.kept, u.kept_before
	), ` + d.countBytes("kept - kept_before", "recorded") + `, appended AS (
		` + appendHistory + `SELECT tenant_id, id, CAST(last AS bigint), entries FROM recorded WHERE entries IS NOT NULL
	) SELECT id FROM recorded`
}

// recordSmall writes steps in one statement for as many as have little text together.
func (s repository) recordSmall(ctx context.Context, rows []stepRow) error {
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size < maxBatch) {
			size += len(rows[n].Progress) + len(rows[n].Entries)
			n++
		}
		if err := s.recordBatch(ctx, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (s repository) recordBatch(ctx context.Context, rows []stepRow) error {
	if err := s.FirstFailure(); err != nil {
		return err
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode steps: %w", err))
	}
	var recorded []string
	if err := s.ReadRows(ctx, "record steps", &recorded, s.store.record, string(text)); err != nil {
		return s.Fail(err)
	}
	s.store.liveRunsChanged(len(recorded))
	if len(recorded) == len(rows) {
		return nil
	}
	for i := range rows {
		if row := &rows[i]; !slices.Contains(recorded, row.ID) {
			return s.Fail(s.stale(ctx, tenant.ID(row.Tenant), run.ID(row.ID)))
		}
	}
	return s.Fail(fmt.Errorf("record steps: %d of %d were recorded", len(recorded), len(rows)))
}
