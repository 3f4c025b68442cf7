package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Erasures are what erasures do in the tables of runs.
type Erasures struct{ *unit }

// Erasures is for a unit of work.
func (s *Store) Erasures(u *core.Unit) Erasures { return Erasures{&unit{u, s}} }

func keysOf(owner tenant.ID, ids []run.ID) []core.KeyRow {
	keys := make([]core.KeyRow, len(ids))
	for i, id := range ids {
		keys[i] = core.KeyRow{Tenant: string(owner), ID: string(id)}
	}
	return keys
}

// Find returns at most limit of the runs that an erasure's filter takes.
func (s Erasures) Find(ctx context.Context, j *job.Job, limit int) (ids []run.ID, err error) {
	statement, args := s.store.dialect.findErased(j.Scope(), j.Filter(), limit)
	err = s.ReadRows(ctx, "find the runs of an erasure", &ids, statement, args...)
	return ids, err
}

func (d dialect) findErased(scope tenant.Scope, f run.Filter, limit int) (statement string, args []any) {
	l := runList{core.NewList("runs", "", scope, core.ScopeCondition{}, nil)}
	if f.Status != "" {
		conditions := l.conditionsOfJob(scope, f, []run.Status{f.Status}, d)
		return `SELECT id FROM runs WHERE ` + conditions + ` LIMIT ` + l.Arg(limit), l.Args
	}
	table := "runs"
	if d.Facets != "" {
		table = d.Facets
	}
	conditions := append([]string{"tenant_id = $1"}, append(l.fixedOfRuns(scope, f), l.timesOfRuns(f)...)...)
	return `SELECT id FROM ` + table + ` WHERE ` + strings.Join(conditions, " AND ") + ` LIMIT ` + l.Arg(limit), l.Args
}

// Above returns the runs that started some, and those that started these: which have ended, and which have not.
func (s Erasures) Above(ctx context.Context, owner tenant.ID, ids []run.ID) (ended, live []run.ID, err error) {
	table, parameter, err := s.store.dialect.Keys(keysOf(owner, ids))
	if err != nil {
		return nil, nil, err
	}
	var rows []struct {
		ID   run.ID `db:"id"`
		Live bool   `db:"live"`
	}
	err = s.ReadRows(ctx, "find the runs above some", &rows, `WITH RECURSIVE above (parent) AS (
			SELECT u.parent_run_id FROM `+table+` CROSS JOIN runs u WHERE u.tenant_id = r.tenant_id AND u.id = r.id AND u.parent_run_id <> ''
			UNION SELECT u.parent_run_id FROM above CROSS JOIN runs u WHERE u.tenant_id = $2 AND u.id = above.parent AND u.parent_run_id <> '')
		SELECT u.id, u.finished_at IS NULL AS live FROM above CROSS JOIN runs u WHERE u.tenant_id = $2 AND u.id = above.parent`, parameter, string(owner))
	for _, row := range rows {
		if row.Live {
			live = append(live, row.ID)
		} else {
			ended = append(ended, row.ID)
		}
	}
	return ended, live, err
}

// Give adds runs to those of a job.
func (s Erasures) Give(ctx context.Context, j *job.Job, ids []run.ID) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	table, parameter, err := s.store.dialect.Keys(keysOf(j.Tenant(), ids))
	if err != nil {
		return 0, s.Fail(err)
	}
	n, err := s.Exec(ctx, "give runs to an erasure", `INSERT INTO job_runs (tenant_id, job_id, run_id) SELECT r.tenant_id, CAST($2 AS text), r.id FROM `+table+` WHERE true
		ON CONFLICT (tenant_id, job_id, run_id) DO NOTHING`, parameter, string(j.ID()))
	return int(n), err
}

// GiveChildren adds runs that some of them started.
func (s Erasures) GiveChildren(ctx context.Context, j *job.Job, of []run.ID, limit int) (int, error) {
	table, parameter, err := s.store.dialect.Keys(keysOf(j.Tenant(), of))
	if err != nil {
		return 0, s.Fail(err)
	}
	n, err := s.Exec(ctx, "give children to an erasure", `INSERT INTO job_runs (tenant_id, job_id, run_id)
		SELECT c.tenant_id, CAST($2 AS text), c.id FROM `+table+` CROSS JOIN runs c WHERE c.tenant_id = r.tenant_id AND c.parent_run_id = r.id AND c.parent_run_id <> ''
			AND NOT EXISTS (SELECT 1 FROM job_runs t WHERE t.tenant_id = c.tenant_id AND t.job_id = $2 AND t.run_id = c.id) LIMIT $3`, parameter, string(j.ID()), limit)
	return int(n), err
}

// Children returns runs that a run started.
func (s Erasures) Children(ctx context.Context, scope tenant.Scope, of run.ID, limit int) (ids []run.ID, err error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), string(of), limit)
	err = s.ReadRows(ctx, "find the children of a run", &ids, `SELECT id FROM runs WHERE tenant_id = $1 AND parent_run_id = $2 AND parent_run_id <> ''`+in+` ORDER BY id LIMIT $3`, args...)
	return ids, err
}

// Unfinished returns one of a run, those below it and the one that started it that has not ended.
func (s Erasures) Unfinished(ctx context.Context, owner tenant.ID, of run.ID) (run.ID, error) {
	var ids []run.ID
	err := s.ReadRows(ctx, "find what has not ended around a run", &ids, `WITH RECURSIVE below (id) AS (
			SELECT CAST($2 AS text)
			UNION SELECT c.id FROM below CROSS JOIN runs c WHERE c.tenant_id = $1 AND c.parent_run_id = below.id AND c.parent_run_id <> '')
		SELECT u.id FROM below CROSS JOIN runs u WHERE u.tenant_id = $1 AND u.id = below.id AND u.finished_at IS NULL
		UNION ALL SELECT p.id FROM runs u CROSS JOIN runs p WHERE u.tenant_id = $1 AND u.id = $2 AND p.tenant_id = $1 AND p.id = u.parent_run_id AND p.finished_at IS NULL
		LIMIT 1`, string(owner), string(of))
	if len(ids) == 0 {
		return "", err
	}
	return ids[0], err
}

// Times returns when something happened to runs, as their histories say, and when they came up.
func (s Erasures) Times(ctx context.Context, owner tenant.ID, ids []run.ID) ([]int64, error) {
	times, err := s.times(ctx, owner, ids)
	return slices.Sorted(maps.Keys(times)), err
}

func (s Erasures) times(ctx context.Context, owner tenant.ID, ids []run.ID) (times map[int64]bool, err error) {
	table, parameter, err := s.store.dialect.Keys(keysOf(owner, ids))
	if err != nil {
		return nil, s.Fail(err)
	}
	times = make(map[int64]bool)
	err = s.EachRow(ctx, "find when runs were created", func(rows *sql.Rows) error {
		var at core.Instant
		if err := rows.Scan(&at); err != nil {
			return err
		}
		times[at.UnixMilli()] = true
		return nil
	}, `SELECT u.created_at FROM `+table+` CROSS JOIN runs u WHERE u.tenant_id = r.tenant_id AND u.id = r.id`, parameter)
	if err != nil {
		return nil, err
	}
	err = s.EachRow(ctx, "find when something happened to runs", func(rows *sql.Rows) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var entries []struct {
			At int64 `json:"at"`
		}
		if json.Unmarshal(text, &entries) != nil {
			return nil //nolint:nilerr // nobody can tell any more what happened then
		}
		for _, e := range entries {
			times[e.At] = true
		}
		return nil
	}, `SELECT h.entries FROM `+table+` CROSS JOIN run_history h WHERE h.tenant_id = r.tenant_id AND h.run_id = r.id`, parameter)
	return times, err
}

// Remove removes runs, and with the schema what belongs to them: all, or only those that have ended, and without a job those
// whose parents do not wait for them, either. They are not the job's any more, which remembers them. It returns those that were removed.
func (s Erasures) Remove(ctx context.Context, owner tenant.ID, of job.ID, ids []run.ID, onlyEnded bool) (gone []run.ID, err error) {
	table, parameter, err := s.store.dialect.Keys(keysOf(owner, ids))
	if err != nil {
		return nil, s.Fail(err)
	}
	condition := ``
	if onlyEnded {
		condition = ` AND finished_at IS NOT NULL`
	}
	if of == "" {
		condition += ` AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.tenant_id = runs.tenant_id AND p.id = runs.parent_run_id AND p.finished_at IS NULL)`
	}
	var removed []struct {
		ID        run.ID             `db:"id"`
		SubTenant tenant.SubTenantID `db:"sub_tenant_id"`
		Workflow  workflow.ID        `db:"workflow_id"`
		Parent    run.ID             `db:"parent_run_id"`
	}
	err = s.ReadRows(ctx, "remove runs", &removed, `DELETE FROM runs WHERE tenant_id = $2 AND id IN (SELECT r.id FROM `+table+`)`+condition+`
		RETURNING id, sub_tenant_id, workflow_id, parent_run_id`, parameter, string(owner))
	if err != nil {
		return nil, s.Fail(err)
	}
	for _, one := range removed {
		gone = append(gone, one.ID)
		s.NoteLists(change.Change{Tenant: owner, SubTenant: one.SubTenant, Kind: change.Run, Operation: change.Deleted, ID: string(one.ID), Workflow: one.Workflow, Parent: one.Parent})
	}
	if of == "" {
		return gone, nil
	}
	if onlyEnded {
		return gone, s.noteErased(ctx, owner, of, gone)
	}
	return gone, s.noteErased(ctx, owner, of, ids)
}

// noteErased takes runs from a job, which remembers that it has removed them.
func (s Erasures) noteErased(ctx context.Context, owner tenant.ID, of job.ID, ids []run.ID) error {
	table, parameter, err := s.store.dialect.Keys(keysOf(owner, ids))
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "note erased runs", `INSERT INTO erased_runs (tenant_id, job_id, run_id) SELECT r.tenant_id, CAST($2 AS text), r.id FROM `+table+` WHERE true
		ON CONFLICT (tenant_id, job_id, run_id) DO NOTHING`, parameter, string(of))
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "take runs from a job", `DELETE FROM job_runs WHERE tenant_id = $2 AND job_id = $3 AND run_id IN (SELECT r.id FROM `+table+`)`, parameter, string(owner), string(of))
	return err
}

// Erased returns those of the runs that an erasure has removed.
func (s Erasures) Erased(ctx context.Context, j *job.Job, ids []run.ID) (map[run.ID]bool, error) {
	erased := make(map[run.ID]bool)
	for part := range slices.Chunk(ids, 1000) {
		table, parameter, err := s.store.dialect.Keys(keysOf(j.Tenant(), part))
		if err != nil {
			return nil, s.Fail(err)
		}
		var found []run.ID
		err = s.ReadRows(ctx, "find erased runs", &found, `SELECT e.run_id FROM `+table+` CROSS JOIN erased_runs e WHERE e.tenant_id = r.tenant_id AND e.job_id = $2 AND e.run_id = r.id`, parameter, string(j.ID()))
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			erased[id] = true
		}
	}
	return erased, nil
}

// Forget removes at most limit of the notes of what an erasure has removed.
func (s Erasures) Forget(ctx context.Context, j *job.Job, limit int) (int, error) {
	n, err := s.Exec(ctx, "forget erased runs", `DELETE FROM erased_runs WHERE tenant_id = $1 AND job_id = $2 AND run_id IN (
		SELECT run_id FROM erased_runs WHERE tenant_id = $1 AND job_id = $2 ORDER BY run_id LIMIT $3)`, string(j.Tenant()), string(j.ID()), limit)
	return int(n), err
}

var errNotErasing = errors.New("the job erases nothing")

// Until is before when what an erasure removes came up. A filter's times are those of its runs: what names them may be younger.
func Until(j *job.Job) (time.Time, error) {
	e := j.Erasure()
	if e == nil {
		return time.Time{}, fmt.Errorf("job %s: %w", j.ID(), errNotErasing)
	}
	until := j.CreatedAt()
	if e.Before != nil && e.Before.Before(until) {
		until = *e.Before
	}
	return until.UTC(), nil
}
