package runs

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// jobs keeps work on many runs.
type jobs struct{ *unit }

var (
	_ outbound.JobRepository = jobs{}
	_ outbound.JobQueue      = jobs{}
)

// jobFilter is how a filter is kept: what an upgrade adds to filters is added here.
type jobFilter struct {
	Status    run.Status          `json:"status,omitempty"`
	Workflow  workflow.ID         `json:"workflowId,omitempty"`
	Version   workflow.VersionID  `json:"workflowVersionId,omitempty"`
	Trigger   trigger.ID          `json:"triggerId,omitempty"`
	Entity    *string             `json:"entityId,omitempty"`
	Parent    run.ID              `json:"parentRunId,omitempty"`
	Children  bool                `json:"children,omitempty"`
	SubTenant *tenant.SubTenantID `json:"subTenantId,omitempty"`
	From      *time.Time          `json:"from,omitempty"`
	To        *time.Time          `json:"to,omitempty"`
}

// keptFilter is that of a job.
type keptFilter struct {
	jobFilter
	Verdict string `json:"verdict,omitempty"`
}

// jobFailure is how a failure is kept.
type jobFailure struct {
	Run     run.ID `json:"runId"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Insert relies on the index jobs_running: of two units one waits for the other, and then does not
// insert.
func (s jobs) Insert(ctx context.Context, j *job.Job) error {
	st := j.State()
	filter, err := json.Marshal(keptFilter{jobFilter(st.Filter), st.Verdict})
	if err != nil {
		return s.Fail(fmt.Errorf("encode the filter of job %s: %w", st.ID, err))
	}
	erasure, err := encodeErasure(st.Erasure)
	if err != nil {
		return s.Fail(fmt.Errorf("encode the erasure of job %s: %w", st.ID, err))
	}
	n, err := s.Exec(ctx, "insert job", `INSERT INTO jobs (`+jobColumns+`, needs_level, leased_until)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, '[]', '', $7, $8, NULL, $9, $10, 0, `+s.store.dialect.Clock+`)
		ON CONFLICT (tenant_id) WHERE status = 'running' DO NOTHING`,
		string(st.Scope.Tenant()), string(st.ID), st.Scope.SubTenant(), string(st.Action), string(filter), string(st.Status),
		st.CreatedAt, st.UpdatedAt, st.Revision, erasure)
	if err != nil || n > 0 {
		return err
	}
	return s.Fail(s.errRunning(ctx, st.Scope))
}

// errRunning names the job that is running, where that is within the scope.
func (s jobs) errRunning(ctx context.Context, scope tenant.Scope) error {
	rows, err := s.read(ctx, "find the running job", `WHERE tenant_id = $1 AND status = 'running'`, string(scope.Tenant()))
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		return &core.Collision{Cause: errors.New("the job that was running has ended")}
	}
	running := rows[0]
	if sub := scope.SubTenant(); sub != nil && running.Scope() != scope {
		return domain.Fail(domain.Conflict, "job_running", "Another job of this tenant is running, and a tenant has one at a time. Ask again when it has ended.")
	}
	refused := domain.Fail(domain.Conflict, "job_running", "Job %s is running, and a tenant has one at a time. Follow it at /v1/gateway/jobs/%s, or cancel it.", running.ID(), running.ID())
	refused.Job = string(running.ID())
	return refused
}

// Collect copies identifiers within the database.
func (s jobs) Collect(ctx context.Context, j *job.Job, limit int) (int, error) {
	f := j.Filter()
	if to := j.CreatedAt(); f.To == nil || f.To.After(to) {
		f.To = &to
	}
	if j.Action() == job.Replay {
		return s.collectDeliveries(ctx, j, f, limit)
	}
	l := runList{core.NewList("runs", "", j.Scope(), core.ScopeCondition{}, nil)}
	id := l.Arg(string(j.ID()))
	n, err := s.Exec(ctx, "collect the runs of a job", `INSERT INTO job_runs (tenant_id, job_id, run_id) SELECT tenant_id, CAST(`+id+` AS text), id FROM runs WHERE `+
		l.conditionsOfJob(j.Scope(), f, j.Statuses(), s.store.dialect)+` LIMIT `+l.Arg(limit), l.Args...)
	return int(n), err
}

// collectDeliveries collects deliveries to a hook. None that was refused is ever run, and of a repeat that was rejected the first one is.
func (s jobs) collectDeliveries(ctx context.Context, j *job.Job, f run.Filter, limit int) (int, error) {
	n, err := s.Exec(ctx, "collect the deliveries of a job", `INSERT INTO job_runs (tenant_id, job_id, run_id) SELECT tenant_id, CAST($2 AS text), id FROM hook_deliveries
		WHERE tenant_id = $1 AND trigger_id = $3 AND received_at >= $4 AND received_at < $5 AND NOT refused
			AND NOT (verdict = 'rejected' AND replay_of <> '') AND (CAST($6 AS text) = '' OR verdict = $6) LIMIT $7`,
		string(j.Tenant()), string(j.ID()), string(f.Trigger), *f.From, *f.To, j.Verdict(), limit)
	return int(n), err
}

// conditionsOfJob are those on the table of runs; see ofRuns.
func (l runList) conditionsOfJob(scope tenant.Scope, f run.Filter, statuses []run.Status, d dialect) string {
	fixed, conditions := l.fixedOfRuns(scope, f), append([]string{"tenant_id = $1"}, l.timesOfRuns(f)...)
	var places []string
	for _, status := range statuses {
		places = append(places, l.Arg(string(status)))
	}
	conditions = append(conditions, "status IN ("+strings.Join(places, ", ")+")")
	switch {
	case d.Facets == "":
		conditions = append(conditions, fixed...)
	case len(fixed) > 0:
		conditions = append(conditions, d.amongFacets(fixed))
		fallthrough
	default:
		conditions = append(conditions, indexOfStatus(cmp.Or(pendingAmong(statuses), statuses[0]), "$1"))
	}
	return strings.Join(conditions, " AND ")
}

// pendingAmong is pending, if it is one of them.
func pendingAmong(statuses []run.Status) (none run.Status) {
	if slices.Contains(statuses, run.StatusPending) {
		return run.StatusPending
	}
	return none
}

const jobColumns = `tenant_id, id, sub_tenant_id, action, filter, status, matched, done, failed, failures, cursor, created_at, updated_at, finished_at, revision, erasure`

type jobRow struct {
	Tenant     string     `db:"tenant_id"`
	ID         string     `db:"id"`
	SubTenant  *string    `db:"sub_tenant_id"`
	Action     string     `db:"action"`
	Filter     string     `db:"filter"`
	Status     string     `db:"status"`
	Matched    int        `db:"matched"`
	Done       int        `db:"done"`
	Failed     int        `db:"failed"`
	Failures   string     `db:"failures"`
	Cursor     string     `db:"cursor"`
	CreatedAt  time.Time  `db:"created_at"`
	UpdatedAt  time.Time  `db:"updated_at"`
	FinishedAt *time.Time `db:"finished_at"`
	Revision   int64      `db:"revision"`
	Erasure    *string    `db:"erasure"`
}

// Targets are the columns in the order of jobColumns.
func (row *jobRow) Targets() []any {
	return []any{
		&row.Tenant, &row.ID, &row.SubTenant, &row.Action, &row.Filter, &row.Status, &row.Matched, &row.Done, &row.Failed, &row.Failures,
		&row.Cursor, &row.CreatedAt, &row.UpdatedAt, &row.FinishedAt, &row.Revision, &row.Erasure,
	}
}

// Size counts what a client wrote, and what failures say.
func (row *jobRow) Size() int { return len(row.Filter) + len(row.Failures) }

// SizeSQL is the same, of the columns.
func (*jobRow) SizeSQL() string { return `octet_length(filter) + octet_length(failures)` }

func (row jobRow) restore() (*job.Job, error) {
	st := job.State{
		ID: job.ID(row.ID), Scope: tenant.All(tenant.ID(row.Tenant)), Action: job.Action(row.Action), Status: job.Status(row.Status),
		Matched: row.Matched, Done: row.Done, Failed: row.Failed, Cursor: run.ID(row.Cursor),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), FinishedAt: core.InUTC(row.FinishedAt), Revision: row.Revision,
	}
	if row.SubTenant != nil {
		st.Scope = tenant.Only(st.Scope.Tenant(), tenant.SubTenantID(*row.SubTenant))
	}
	var filter keptFilter
	var failures []jobFailure
	err := errors.Join(json.Unmarshal([]byte(row.Filter), &filter), json.Unmarshal([]byte(row.Failures), &failures))
	if row.Erasure != nil {
		var e keptErasure
		err = errors.Join(err, json.Unmarshal([]byte(*row.Erasure), &e))
		st.Erasure = &job.Erasure{Subject: e.Subject, Before: e.Before, Asked: e.Asked, Part: e.Part, After: e.After, Removed: job.Removed(e.Removed)}
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", row.ID, err)
	}
	st.Filter, st.Verdict = run.Filter(filter.jobFilter), filter.Verdict
	for _, f := range failures {
		st.Failures = append(st.Failures, job.Failure(f))
	}
	return job.Restore(st), nil
}

// keptErasure is how an erasure is kept.
type keptErasure struct {
	Subject job.Subject `json:"subject"`
	Before  *time.Time  `json:"before,omitempty"`
	Asked   string      `json:"asked"`
	Part    job.Part    `json:"part,omitempty"`
	After   string      `json:"after,omitempty"`
	Removed keptRemoved `json:"removed"`
}

type keptRemoved struct {
	Records        int `json:"records,omitempty"`
	Runs           int `json:"runs,omitempty"`
	Cancelled      int `json:"cancelled,omitempty"`
	Events         int `json:"events,omitempty"`
	Deliveries     int `json:"deliveries,omitempty"`
	HookDeliveries int `json:"hookDeliveries,omitempty"`
	Answers        int `json:"answers,omitempty"`
	Samples        int `json:"samples,omitempty"`
	Jobs           int `json:"jobs,omitempty"`
	Keys           int `json:"keys,omitempty"`
	AuditValues    int `json:"auditValues,omitempty"`
}

// encodeErasure writes how far an erasure is; nil for none.
func encodeErasure(e *job.Erasure) (*string, error) {
	if e == nil {
		return nil, nil //nolint:nilnil // there is nothing to be written
	}
	text, err := json.Marshal(keptErasure{e.Subject, e.Before, e.Asked, e.Part, e.After, keptRemoved(e.Removed)})
	if err != nil {
		return nil, err
	}
	written := string(text)
	return &written, nil
}

func (s jobs) read(ctx context.Context, what, condition string, args ...any) (all []*job.Job, err error) {
	var rows []jobRow
	if err = s.ReadRows(ctx, what, &rows, `SELECT `+jobColumns+` FROM jobs `+condition, args...); err != nil {
		return nil, err
	}
	for _, row := range rows {
		j, err := row.restore()
		if err != nil {
			return nil, err
		}
		all = append(all, j)
	}
	return all, nil
}

// Get reads a job.
func (s jobs) Get(ctx context.Context, scope tenant.Scope, id job.ID) (*job.Job, error) {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	found, err := s.read(ctx, "get job", `WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err == nil && len(found) == 0 {
		err = core.NotFound(sql.ErrNoRows, "job_not_found", "There is no such job.")
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// List reads a page.
func (s jobs) List(ctx context.Context, scope tenant.Scope, f job.Filter, q domain.Query) (domain.Page[*job.Job], error) {
	l := core.NewList("jobs", jobColumns, scope, core.BySubTenant, sorted)
	if f.Status != "" {
		l.Equal("status", string(f.Status))
	}
	return core.ReadPage(ctx, s.Unit, l, q, jobRow.restore)
}

// Update writes a job whose stored revision is the aggregate's.
func (s jobs) Update(ctx context.Context, j *job.Job) error {
	st := j.State()
	kept := make([]jobFailure, len(st.Failures))
	for i, f := range st.Failures {
		kept[i] = jobFailure(f)
	}
	failures, err := json.Marshal(kept)
	if err != nil {
		return s.Fail(fmt.Errorf("encode the failures of job %s: %w", st.ID, err))
	}
	filter, err := json.Marshal(keptFilter{jobFilter(st.Filter), st.Verdict})
	if err != nil {
		return s.Fail(fmt.Errorf("encode the filter of job %s: %w", st.ID, err))
	}
	erasure, err := encodeErasure(st.Erasure)
	if err != nil {
		return s.Fail(fmt.Errorf("encode the erasure of job %s: %w", st.ID, err))
	}
	n, err := s.Exec(ctx, "update job", `UPDATE jobs SET status = $1, matched = $2, done = $3, failed = $4, failures = $5, cursor = $6, updated_at = $7, finished_at = $8,
			filter = $12, erasure = $13, leased_until = `+s.store.dialect.Clock+`, revision = revision + 1
		WHERE tenant_id = $9 AND id = $10 AND revision = $11`,
		string(st.Status), st.Matched, st.Done, st.Failed, string(failures), string(st.Cursor), st.UpdatedAt, st.FinishedAt,
		string(st.Scope.Tenant()), string(st.ID), st.Revision, string(filter), erasure)
	err = s.CheckUpdated(n, err, j.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Scope.Tenant()), st.ID)
		return err
	})
	if err != nil {
		return err
	}
	args, upTo := []any{string(st.Scope.Tenant()), string(st.ID)}, ""
	if st.Status == job.Running {
		args, upTo = append(args, string(st.Cursor)), ` AND run_id <= $3`
	}
	_, err = s.Exec(ctx, "forget runs of a job", `DELETE FROM job_runs WHERE tenant_id = $1 AND job_id = $2`+upTo, args...)
	return err
}

// Sweep removes jobs, after the notes of erasures that were cancelled, of which there may be millions.
func (s jobs) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	notes, err := s.Exec(ctx, "sweep erased runs", `DELETE FROM erased_runs WHERE (tenant_id, job_id, run_id) IN (
		SELECT e.tenant_id, e.job_id, e.run_id FROM jobs j CROSS JOIN erased_runs e
		WHERE j.finished_at IS NOT NULL AND j.erasure IS NOT NULL AND e.tenant_id = j.tenant_id AND e.job_id = j.id LIMIT $1)`, limit)
	if limit -= int(notes); err != nil || limit == 0 {
		return int(notes), err
	}
	n, err := s.Exec(ctx, "sweep jobs", `DELETE FROM jobs WHERE (tenant_id, id) IN (SELECT tenant_id, id FROM jobs
		WHERE finished_at < $1 AND (erasure IS NULL OR finished_at < $3) ORDER BY finished_at LIMIT $2)`, before, limit, before.Add(job.Retention-job.ReceiptRetention))
	return int(notes + n), err
}

// freeJobs are the jobs that nobody has.
func (s jobs) freeJobs() string {
	return ` FROM jobs WHERE status = 'running' AND leased_until <= ` + s.store.dialect.Clock + core.HasLevel("jobs", s.Level()) + `
			AND EXISTS (SELECT 1 FROM tenants t WHERE t.id = jobs.tenant_id AND t.status = 'active')`
}

// Waits looks in an index.
func (s jobs) Waits(ctx context.Context) (some bool, err error) {
	err = s.ReadRow(ctx, "look for a job", &some, `SELECT EXISTS (SELECT 1`+s.freeJobs()+`)`)
	return some, err
}

// Claim takes turns: an update of a job lets those go first that have waited since before it.
func (s jobs) Claim(ctx context.Context, period time.Duration) (claimed outbound.ClaimedJob, err error) {
	var row struct {
		jobRow
		Now core.Instant `db:"now"`
	}
	err = s.ReadRow(ctx, "find a job", &row, `SELECT `+jobColumns+`, `+s.store.dialect.Clock+` AS now`+s.freeJobs()+`
		ORDER BY leased_until, tenant_id LIMIT 1`+s.store.dialect.ClaimRows)
	if errors.Is(err, sql.ErrNoRows) {
		return claimed, nil
	}
	if err != nil {
		return claimed, err
	}
	if claimed.Job, claimed.Unreadable = row.restore(); claimed.Unreadable != nil {
		period = outbound.UnreadableWait
	}
	_, err = s.Exec(ctx, "lease a job", `UPDATE jobs SET leased_until = $1 WHERE tenant_id = $2 AND id = $3`, row.Now.Add(period), row.Tenant, row.ID)
	return claimed, err
}

// Runs reads lengths only.
func (s jobs) Runs(ctx context.Context, j *job.Job, limit int) ([]outbound.JobRun, error) {
	var rows []struct {
		ID       string  `db:"run_id"`
		Version  *string `db:"workflow_version_id"`
		Snapshot *string `db:"snapshot_id"`
		Loop     string  `db:"loop"`
		Size     int64   `db:"size"`
	}
	err := s.ReadRows(ctx, "find the runs of a job", &rows, `SELECT j.run_id, runs.workflow_version_id, runs.snapshot_id, `+loopColumn+` AS loop, coalesce(`+wholeSize+`, 0) AS size
		FROM job_runs j LEFT JOIN runs ON runs.tenant_id = j.tenant_id AND runs.id = j.run_id
		WHERE j.tenant_id = $1 AND j.job_id = $2 AND j.run_id > $3 ORDER BY j.run_id LIMIT $4`,
		string(j.Tenant()), string(j.ID()), string(j.Cursor()), limit)
	found := make([]outbound.JobRun, len(rows))
	for i, row := range rows {
		found[i] = outbound.JobRun{ID: run.ID(row.ID), Size: row.Size}
		found[i].Source = run.Source{Version: orNone[workflow.VersionID](row.Version), Snapshot: orNone[run.SnapshotID](row.Snapshot), Loop: workflow.NodeID(row.Loop)}
	}
	return found, err
}
