package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxTogether bounds the text of steps that are recorded together, in bytes: more of it
// gains nothing.
const maxTogether = 4 << 20

// stepRow is a row of [Dialect.Rows].
type stepRow struct {
	Tenant         string  `json:"tenant_id"`
	ID             string  `json:"id"`
	Status         string  `json:"status"`
	Seq            int64   `json:"seq"`
	From           int64   `json:"from_seq"`
	Lease          int64   `json:"number"`
	Ends           bool    `json:"ends"`
	Progress       string  `json:"progress"`
	Outputs        int     `json:"outputs"`
	FailureCode    *string `json:"failure_code"`
	FailureMessage *string `json:"failure_message"`
	FailureNode    *string `json:"failure_node"`
	UpdatedAt      string  `json:"updated_at"`
	StartedAt      *string `json:"started_at"`
	FinishedAt     *string `json:"finished_at"`
	WakeAt         *string `json:"wake_at"`
	DueAt          *string `json:"due_at"`
	Ready          bool    `json:"ready"`
	Awaits         *string `json:"awaits,omitempty"`
	Awaited        *string `json:"awaited,omitempty"`
	Last           int64   `json:"last"`
	Entries        string  `json:"entries"`
}

var stepColumns = []Column{
	{Name: "tenant_id"}, {Name: "id"}, {Name: "status"}, {Name: "seq"}, {Name: "from_seq"}, {Name: "number"}, {Name: "ends"}, {Name: "progress"}, {Name: "outputs"},
	{Name: "failure_code"}, {Name: "failure_message"}, {Name: "failure_node"}, {Name: "updated_at", Time: true}, {Name: "started_at", Time: true},
	{Name: "finished_at", Time: true}, {Name: "wake_at", Time: true}, {Name: "due_at", Time: true}, {Name: "ready"}, {Name: "awaits"},
	{Name: "awaited"}, {Name: "last"}, {Name: "entries"},
}

// recordTogether writes many steps as [Dialect.recordStep] writes one, appends their
// histories, and returns the runs of those that were not refused; empty where that would
// take several statements anyway. The condition on the rows that is always true makes
// them few in the eyes of the planner, who looks up each run by its key then, also where
// there are no statistics yet.
func (d Dialect) recordTogether() string {
	if !d.WritingWith {
		return ""
	}
	return `WITH steps AS (
		SELECT r.* FROM ` + d.Rows(1, stepColumns...) + ` WHERE r.id || '' = r.id
	), recorded AS (
		UPDATE runs AS u SET status = r.status, seq = CAST(r.seq AS bigint), progress = r.progress, failure_code = r.failure_code,
			failure_message = r.failure_message, failure_node = r.failure_node, updated_at = r.updated_at, started_at = r.started_at,
			finished_at = r.finished_at, wake_at = r.wake_at,
			due_at = CASE WHEN CAST(r.ready AS boolean) AND r.due_at > ` + d.Clock + ` THEN ` + d.Clock + ` ELSE r.due_at END,
			lease_until = CASE WHEN CAST(r.ends AS boolean) THEN NULL ELSE u.lease_until END, alone = 0,
			awaits = r.awaits, awaited = r.awaited, outputs = CAST(r.outputs AS bigint),
			kept = ` + keptAfter("u", "octet_length(r.progress) + octet_length(r.entries) + CAST(r.outputs AS bigint)") + d.keptBefore("u") + `
		FROM steps r WHERE u.tenant_id = r.tenant_id AND u.id = r.id AND u.seq = CAST(r.from_seq AS bigint)
			AND (CAST(r.number AS bigint) = 0 OR u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL)
		RETURNING u.tenant_id, u.id, r.last, r.entries, u.kept, u.kept_before
	), ` + d.countBytes("kept - kept_before", "recorded") + ` ` + appendHistory + `SELECT tenant_id, id, CAST(last AS bigint), entries FROM recorded RETURNING run_id`
}

// together prepares steps that can be recorded in one statement. That has to be several,
// each of which has a history, and no new output that is large.
func (s runs) together(steps []outbound.RunStep) (rows []stepRow, ok bool) {
	if len(steps) < 2 || s.store.runs.recordTogether == "" || s.tx == nil || !s.writing {
		return nil, false
	}
	size := 0
	rows = make([]stepRow, len(steps))
	for i, step := range steps {
		if len(step.History) == 0 {
			return nil, false
		}
		st := step.Run.State()
		for n := range st.LargeOutputs() {
			if n.OutputSeq > step.From {
				return nil, false
			}
		}
		due, ready := dueAt(st)
		entries, err := encodeEntries(step.History)
		if err != nil {
			return nil, false // it says why when it is recorded by itself
		}
		row := &rows[i]
		*row = stepRow{
			Tenant: string(st.Tenant), ID: string(st.ID), Status: string(st.Status), Seq: st.Seq, From: step.From, Lease: step.Lease.Number,
			Ends:     st.Status.Finished() || step.Lease.Number != 0 && !step.Keep,
			Progress: asText(run.EncodeProgress(st.Progress)), Outputs: st.LargeOutputsSize(), UpdatedAt: st.UpdatedAt.UTC().Format(rowTime), StartedAt: rowTimeOf(st.StartedAt),
			FinishedAt: rowTimeOf(st.FinishedAt), WakeAt: rowTimeOf(st.WakeAt), DueAt: rowTimeOf(due), Ready: ready,
			Last: step.History[len(step.History)-1].Seq, Entries: entries,
		}
		row.FailureCode, row.FailureMessage, row.FailureNode = failureColumns(st.Failure)
		if row.Awaits, row.Awaited, err = awaitColumns(step.Run); err != nil {
			return nil, false
		}
		if size += len(row.Progress) + len(entries); size > maxTogether {
			return nil, false
		}
	}
	return rows, true
}

func (s runs) recordTogether(ctx context.Context, steps []outbound.RunStep, rows []stepRow) error {
	if s.failed != nil {
		return s.failed
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.fail(fmt.Errorf("encode steps: %w", err))
	}
	var recorded []string
	if err := s.list(ctx, "record steps", &recorded, s.store.runs.recordTogether, string(text)); err != nil {
		return s.fail(err)
	}
	if len(recorded) == len(steps) {
		return nil
	}
	for _, step := range steps {
		if r := step.Run; !slices.Contains(recorded, string(r.ID())) {
			return s.fail(s.stale(ctx, r.Tenant(), r.ID()))
		}
	}
	return s.fail(fmt.Errorf("record steps: %d of %d were recorded", len(recorded), len(steps)))
}
