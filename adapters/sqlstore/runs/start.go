package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// newRunRow is a row of [core.Dialect.Rows].
type newRunRow struct {
	Tenant         string  `json:"tenant_id"`
	ID             string  `json:"id"`
	SubTenant      string  `json:"sub_tenant_id"`
	Workflow       string  `json:"workflow_id"`
	Version        string  `json:"workflow_version_id"`
	Trigger        string  `json:"trigger_id"`
	TriggerName    string  `json:"trigger_name"`
	TriggerType    string  `json:"trigger_type"`
	Entity         string  `json:"entity_id"`
	DedupeKey      string  `json:"dedupe_key"`
	HoldsKey       bool    `json:"holds_key"`
	Cause          string  `json:"cause"`
	Payload        string  `json:"payload"`
	SharedPayload  *string `json:"payload_id,omitempty"`
	Snapshot       *string `json:"snapshot_id,omitempty"`
	RerunOf        *string `json:"rerun_of,omitempty"`
	ReplayOf       *string `json:"replay_of,omitempty"`
	Index          *int    `json:"item_index,omitempty"`
	ItemSize       int     `json:"item_size"`
	Level          int     `json:"level"`
	MaxRetries     int     `json:"max_retries"`
	Backoff        int64   `json:"backoff_ms"`
	MaxBackoff     int64   `json:"max_backoff_ms"`
	Timeout        int64   `json:"timeout_ms"`
	Status         string  `json:"status"`
	Seq            int64   `json:"seq"`
	Progress       string  `json:"progress"`
	Outputs        int     `json:"outputs"`
	FailureCode    *string `json:"failure_code"`
	FailureMessage *string `json:"failure_message"`
	FailureNode    *string `json:"failure_node"`
	CreatedAt      string  `json:"created_at"`
	UpdatedAt      string  `json:"updated_at"`
	StartedAt      *string `json:"started_at"`
	FinishedAt     *string `json:"finished_at"`
	WakeAt         *string `json:"wake_at"`
	DueAt          *string `json:"due_at"`
	Ready          bool    `json:"ready"`
	Awaits         *string `json:"awaits,omitempty"`
	Awaited        *string `json:"awaited,omitempty"`
	Parent         string  `json:"parent_run_id"`
	ParentNode     string  `json:"parent_node_id"`
	ParentWaits    bool    `json:"parent_waits"`
	Depth          int     `json:"depth"`
	Size           int     `json:"size"`
	Lane           string  `json:"lane"`
	LaneLimit      int     `json:"lane_limit"`
	LanePlace      int     `json:"lane_place"` // among those that are started together
	Engine         string  `json:"engine"`
}

// newRun is the row of a run that has its payload for itself, or shares the one with an
// identifier.
func newRun(r *run.Run, shared outbound.PayloadID) (newRunRow, error) {
	st := r.State()
	due, ready := dueAt(st)
	awaits, awaited, err := awaitColumns(r)
	payload, of := "", (*string)(nil)
	if shared == "" {
		payload = string(st.Payload)
	} else {
		of = (*string)(&shared)
	}
	code, message, node := failureColumns(st.Failure)
	row := newRunRow{
		Tenant: string(st.Tenant), ID: string(st.ID), SubTenant: string(st.SubTenant), Workflow: string(st.Workflow), Version: string(st.Version),
		Trigger: string(st.Trigger), TriggerName: st.TriggerName, TriggerType: string(st.TriggerType), Entity: st.Entity, DedupeKey: st.DedupeKey,
		HoldsKey: (st.Trigger != "" || st.Cause == run.CauseCall) && st.DedupeKey != "", Cause: string(st.Cause), Payload: payload, SharedPayload: of,
		MaxRetries: st.Retry.MaxRetries, Backoff: st.Retry.Backoff.Milliseconds(), MaxBackoff: st.Retry.MaxBackoff.Milliseconds(),
		Timeout: st.Timeout.Milliseconds(), Status: string(st.Status), Seq: st.Seq, Progress: asText(run.EncodeProgress(st.Progress)), Outputs: st.LargeOutputsSize(),
		FailureCode: code, FailureMessage: message, FailureNode: node,
		CreatedAt: st.CreatedAt.UTC().Format(core.TimeFormat), UpdatedAt: st.UpdatedAt.UTC().Format(core.TimeFormat), StartedAt: core.FormatTime(st.StartedAt),
		FinishedAt: core.FormatTime(st.FinishedAt), WakeAt: core.FormatTime(st.WakeAt), DueAt: core.FormatTime(due), Ready: ready,
		Awaits: awaits, Awaited: awaited,
		Parent: string(st.Parent), ParentNode: string(st.ParentNode), ParentWaits: st.ParentWaits, Depth: st.Depth, Lane: st.Lane.Name, LaneLimit: st.Lane.Limit,
		Snapshot: textOrNull(st.Snapshot), RerunOf: textOrNull(st.RerunOf), ReplayOf: textOrNull(st.ReplayOf), Index: r.Summary().Index,
	}
	row.Size = len(st.Payload) + len(row.Progress) + row.Outputs
	return row, err
}

// textOrNull is null for the empty text.
func textOrNull[T ~string](text T) *string {
	if text == "" {
		return nil
	}
	s := string(text)
	return &s
}

// failureColumns are all null where there is no failure.
func failureColumns(f *run.Failure) (code, message, node *string) {
	if f == nil {
		return nil, nil, nil
	}
	at := string(f.Node)
	return &f.Code, &f.Message, &at
}

// newRunColumns are the columns of the table in [newRunRow], and how each becomes what
// the table holds.
var newRunColumns = []struct {
	core.Column
	cast string // empty for what is right already
}{
	{core.Column{Name: "tenant_id"}, ""}, {core.Column{Name: "id"}, ""}, {core.Column{Name: "sub_tenant_id"}, ""}, {core.Column{Name: "workflow_id"}, ""},
	{core.Column{Name: "workflow_version_id"}, ""}, {core.Column{Name: "trigger_id"}, ""}, {core.Column{Name: "trigger_name"}, ""}, {core.Column{Name: "trigger_type"}, ""},
	{core.Column{Name: "entity_id"}, ""}, {core.Column{Name: "dedupe_key"}, ""}, {core.Column{Name: "holds_key"}, "boolean"}, {core.Column{Name: "cause"}, ""},
	{core.Column{Name: "payload"}, ""}, {core.Column{Name: "payload_id"}, ""}, {core.Column{Name: "snapshot_id"}, ""}, {core.Column{Name: "rerun_of"}, ""}, {core.Column{Name: "replay_of"}, ""}, {core.Column{Name: "item_index"}, "integer"}, {core.Column{Name: "item_size"}, "integer"}, {core.Column{Name: "max_retries"}, "integer"}, {core.Column{Name: "backoff_ms"}, "bigint"},
	{core.Column{Name: "max_backoff_ms"}, "bigint"}, {core.Column{Name: "timeout_ms"}, "bigint"}, {core.Column{Name: "status"}, ""}, {core.Column{Name: "seq"}, "bigint"},
	{core.Column{Name: "progress"}, ""}, {core.Column{Name: "outputs"}, "bigint"}, {core.Column{Name: "failure_code"}, ""}, {core.Column{Name: "failure_message"}, ""}, {core.Column{Name: "failure_node"}, ""},
	{core.Column{Name: "created_at", Time: true}, ""}, {core.Column{Name: "updated_at", Time: true}, ""}, {core.Column{Name: "started_at", Time: true}, ""},
	{core.Column{Name: "finished_at", Time: true}, ""}, {core.Column{Name: "wake_at", Time: true}, ""},
	{core.Column{Name: "awaits"}, ""}, {core.Column{Name: "awaited"}, ""},
	{core.Column{Name: "parent_run_id"}, ""}, {core.Column{Name: "parent_node_id"}, ""}, {core.Column{Name: "parent_waits"}, "boolean"}, {core.Column{Name: "depth"}, "integer"}, {core.Column{Name: "lane"}, ""}, {core.Column{Name: "lane_limit"}, "integer"}, {core.Column{Name: "engine"}, ""},
}

// rowsOfNewRuns is the parameter of both statements that add runs.
func (d dialect) rowsOfNewRuns() string {
	columns := []core.Column{{Name: "ready"}, {Name: "due_at", Time: true}, {Name: "size"}, {Name: "lane_place"}, {Name: "level"}}
	for _, c := range newRunColumns {
		columns = append(columns, c.Column)
	}
	return d.Rows(1, columns...)
}

// insertRuns is the statement that adds runs whose key is free, and returns their ids. Where the
// database can, it also adds what workers and lists see of them, and counts their bytes.
func (d dialect) insertRuns() string {
	var names, selected []string
	for _, c := range newRunColumns {
		value := "r." + c.Name
		if c.cast != "" {
			value = "CAST(" + value + " AS " + c.cast + ")"
		}
		if c.Name == "created_at" || c.Name == "updated_at" { // by the database's clock, should that of who started it be ahead
			value = d.notAhead(value, "true")
		}
		names, selected = append(names, c.Name), append(selected, value)
	}
	names, selected = append(names, "kept"), append(selected, "octet_length(r.payload) + octet_length(r.progress) + CAST(r.outputs AS bigint)")
	insert := `INSERT INTO runs (` + strings.Join(names, ", ") + `) SELECT ` + strings.Join(selected, ", ") + ` FROM `
	const onlyFree = ` WHERE true ON CONFLICT (tenant_id, trigger_id, dedupe_key) WHERE holds_key DO NOTHING RETURNING `
	if !d.WritingWith {
		return insert + d.rowsOfNewRuns() + onlyFree + `id, created_at`
	}
	const facets = `tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id, parent_run_id`
	return `WITH given AS MATERIALIZED (
			SELECT r.* FROM ` + d.rowsOfNewRuns() + `
		), added AS (
			` + insert + `given r` + onlyFree + facets + `, kept
		), listed AS (
			INSERT INTO ` + d.Facets + ` (` + facets + `) SELECT ` + facets + ` FROM added
		), live AS (
			` + d.insertLive(`given r JOIN added a ON a.tenant_id = r.tenant_id AND a.id = r.id`) + `
		), ` + d.countBytes("kept", "added") + ` SELECT id, created_at FROM added`
}

// insertLiveRuns is the statement that adds what workers see of new runs where the one that adds
// the runs cannot.
func (d dialect) insertLiveRuns() string {
	if d.WritingWith {
		return ""
	}
	return d.insertLive(d.rowsOfNewRuns() + ` JOIN runs a ON a.tenant_id = r.tenant_id AND a.id = r.id`)
}

// insertLive adds what workers see of the runs of a table r. Those whose turn it is at once take
// turns; one that misses it is found by its time. One with a lane is held until it is let go.
func (d dialect) insertLive(from string) string {
	due := d.notAhead("r.due_at", "CAST(r.ready AS boolean)")
	return `INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at, ready_at, needs_level, lane, lane_limit, lane_seq, held, engine)
			SELECT r.tenant_id, r.id, r.trigger_id, r.workflow_id, CAST(r.seq AS bigint), CAST(r.size AS bigint),
				CASE WHEN r.lane = '' THEN ` + due + ` END, CASE WHEN r.lane = '' AND CAST(r.ready AS boolean) THEN ` + due + ` END, ` +
		levelOf("r", "CAST(r.level AS integer)") + `, r.lane, CAST(r.lane_limit AS integer), CASE WHEN r.lane = '' THEN 0 ELSE CAST(r.lane_place AS bigint) +
				coalesce(` + lastInLane("true") + `, ` + lastInLane("false") + `, 0) END, r.lane <> '', r.engine
			FROM ` + from + ` WHERE r.finished_at IS NULL`
}

// lastInLane is the greatest place in the lane of a row r. While some runs wait, one of those has it.
func lastInLane(held string) string {
	return `(SELECT l.lane_seq FROM live_runs l WHERE l.tenant_id = r.tenant_id AND l.lane = r.lane AND l.lane <> '' AND l.held = ` + held + ` ORDER BY l.lane_seq DESC LIMIT 1)`
}

// startAttempts bounds how often a key that has served its time is contended for.
const startAttempts = 4

var errKeyContended = errors.New("the dedupe key of a run was released and taken over and over")

// largePayload is the greatest length of a payload, in bytes, that is kept in the row of its
// run where the database writes the whole of a row anew with every change.
const largePayload = 4 << 10

// Start adds runs, all in one statement unless a dedupe key is taken, or a payload has to
// have a row of its own.
func (s repository) Start(ctx context.Context, all ...*run.Run) ([]outbound.StartedRun, error) {
	if !s.store.dialect.RewritesRows || !slices.ContainsFunc(all, hasLargePayload) {
		return s.start(ctx, "", all)
	}
	started := make([]outbound.StartedRun, len(all))
	var small []*run.Run
	var places []int
	for i, r := range all {
		if !hasLargePayload(r) {
			small, places = append(small, r), append(places, i)
			continue
		}
		one, err := sharedPayloads{s}.Start(ctx, outbound.PayloadID(r.ID()), r)
		if err != nil {
			return nil, err
		}
		started[i] = one[0]
	}
	rest, err := s.start(ctx, "", small)
	for i, one := range rest {
		started[places[i]] = one
	}
	return started, err
}

func hasLargePayload(r *run.Run) bool { return len(r.Payload()) > largePayload }

// start adds runs, of items of the sizes where there are any.
func (s repository) start(ctx context.Context, shared outbound.PayloadID, all []*run.Run, itemSizes ...int) ([]outbound.StartedRun, error) {
	if err := s.FirstFailure(); err != nil {
		return nil, err
	}
	started := make([]outbound.StartedRun, len(all))
	var rows []newRunRow
	wanted := make(map[run.ID]int, len(all))
	created := make(map[run.ID]time.Time, len(all))
	for i, r := range all {
		row, err := newRun(r, shared)
		if err != nil {
			return nil, s.Fail(err)
		}
		row.LanePlace, row.Engine, row.Level = i+1, string(r.BeginsOn(s.store.Begins)), s.levelToBegin(r)
		if itemSizes != nil {
			row.ItemSize = itemSizes[i]
			row.Size += row.ItemSize
		}
		rows = append(rows, row)
		wanted[r.ID()], created[r.ID()] = i, r.CreatedAt()
	}
	bounded := lanesOf(all)
	if err := s.lock(ctx, bounded); err != nil {
		return nil, err
	}
	for range startAttempts {
		taken, err := s.add(ctx, rows, func(id run.ID) {
			started[wanted[id]] = outbound.StartedRun{ID: id, Added: true}
			all[wanted[id]].BeginOn(s.store.Begins)
		})
		if err != nil {
			return nil, err
		}
		rows = nil
		for _, row := range taken {
			first, err := s.holder(ctx, row, created[run.ID(row.ID)].Add(-outbound.DedupeRetention))
			switch {
			case err != nil:
				return nil, err
			case first == "":
				rows = append(rows, row) // once more, now that the key is free
			default:
				started[wanted[run.ID(row.ID)]] = outbound.StartedRun{ID: first}
			}
		}
		if len(rows) == 0 {
			if err := s.letGo(ctx, bounded); err != nil {
				return nil, err
			}
			s.noteStarted(all, started)
			return started, s.addFirstOutputs(ctx, all, started)
		}
	}
	return nil, s.Fail(&core.Collision{Cause: errKeyContended})
}

// noteStarted notes runs that were added for those who follow lists.
func (s repository) noteStarted(all []*run.Run, started []outbound.StartedRun) {
	for i, r := range all {
		if started[i].Added && s.ListsFollowed(r.Tenant()) {
			s.NoteLists(change.OfRun(r, change.Created))
		}
	}
}

// beforeAnything is before all outputs of a run, those included with which it began.
const beforeAnything = math.MinInt64

// addFirstOutputs writes the large outputs that runs have from the start.
func (s repository) addFirstOutputs(ctx context.Context, all []*run.Run, started []outbound.StartedRun) error {
	for i, r := range all {
		if st := r.State(); started[i].Added {
			if err := s.addOutputs(ctx, &st, beforeAnything); err != nil {
				return err
			}
		}
	}
	return nil
}

// add inserts runs, calls added for each, and returns those whose key is taken.
func (s repository) add(ctx context.Context, rows []newRunRow, added func(run.ID)) (taken []newRunRow, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if !s.InTransaction() {
		return nil, s.Fail(errUnit)
	}
	// In the order of the keys, so that two units never wait for each other.
	slices.SortStableFunc(rows, func(a, b newRunRow) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Trigger, b.Trigger), cmp.Compare(a.DedupeKey, b.DedupeKey))
	})
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode runs: %w", err))
	}
	var made []startedRow
	if err = s.ReadRows(ctx, "start runs", &made, s.store.start, string(text)); err != nil {
		return nil, s.Fail(err)
	}
	ids := make([]string, len(made))
	for i, row := range made {
		ids[i] = row.ID
	}
	s.countStarted(rows, made)
	s.store.liveRunsChanged(len(ids))
	if live := s.store.live; live != "" && len(ids) > 0 {
		if _, err = s.Exec(ctx, "queue runs", live, string(text)); err != nil {
			return nil, err
		}
	}
	if len(ids) < len(rows) {
		taken = slices.DeleteFunc(slices.Clone(rows), func(row newRunRow) bool { return slices.Contains(ids, row.ID) })
	}
	for _, id := range ids {
		added(run.ID(id))
	}
	return taken, nil
}

// holder returns the run that holds the key of another one; none when it was created at
// or before the time, and so has just been made to give the key up.
func (s repository) holder(ctx context.Context, row newRunRow, expired time.Time) (run.ID, error) {
	n, err := s.Exec(ctx, "release dedupe key", `UPDATE runs SET holds_key = false
		WHERE tenant_id = $1 AND trigger_id = $2 AND dedupe_key = $3 AND holds_key AND created_at <= $4`, row.Tenant, row.Trigger, row.DedupeKey, expired)
	if err != nil || n > 0 {
		return "", err
	}
	var found []string
	err = s.ReadRows(ctx, "find the run of a dedupe key", &found, `SELECT id FROM runs
		WHERE tenant_id = $1 AND trigger_id = $2 AND dedupe_key = $3 AND holds_key`, row.Tenant, row.Trigger, row.DedupeKey)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return run.ID(found[0]), nil
}
