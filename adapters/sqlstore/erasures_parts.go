package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How many records of a part are looked at in one unit: those that may be large, and the others.
const (
	fewRecords  = 8
	someEvents  = 50 // each may have a delivery to a hundred endpoints
	manyRecords = 200
	manyRuns    = 5000 // identifiers only
)

// RemovePart removes what is about somebody.
func (s erasures) RemovePart(ctx context.Context, j *job.Job) (next string, removed job.Removed, err error) {
	until, err := runs.Until(j)
	if err != nil {
		return "", removed, err
	}
	p := erasedPart{s, j, j.Tenant(), j.Name(), j.Erasure().After, until}
	switch j.Erasure().Part {
	case job.HookDeliveries:
		next, removed.HookDeliveries, err = p.hookDeliveries(ctx)
	case job.Events:
		next, removed, err = p.events(ctx, j.Erasure().Subject)
	case job.Answers:
		next, removed.Answers, err = p.answers(ctx)
	case job.Samples:
		next, removed.Samples, err = p.samples(ctx)
	case job.Jobs:
		next, removed.Jobs, err = p.jobs(ctx, j.ID())
	case job.Keys:
		next, removed.Keys, err = p.keys(ctx)
	case job.Notices:
		err = p.notices(ctx, j.Erasure().Subject)
	case job.ErasedRuns:
		next, err = p.erasedRuns(ctx)
	}
	return next, removed, err
}

// erasedPart is where an erasure goes on in a part.
type erasedPart struct {
	erasures
	job   *job.Job
	owner tenant.ID
	name  string // empty for nobody's in particular
	after string
	until time.Time
}

func (p erasedPart) mentioned(text []byte) bool { return job.Mentions(text, p.name) }

// runID is what an identifier of a run looks like.
var runID = regexp.MustCompile(`\brun_[0-9a-z]{26}\b`)

// ofErased says which of the texts name a run that the erasure has removed. Those of others may be gone, too, and are none of its business.
func (p erasedPart) ofErased(ctx context.Context, texts [][]byte) ([]bool, error) {
	named := make(map[run.ID]bool)
	for _, text := range texts {
		for _, id := range runID.FindAll(text, -1) {
			named[run.ID(id)] = true
		}
	}
	erased, err := p.ofRuns().Erased(ctx, p.job, slices.Collect(maps.Keys(named)))
	if err != nil {
		return nil, err
	}
	is := make([]bool, len(texts))
	for i, text := range texts {
		is[i] = slices.ContainsFunc(runID.FindAll(text, -1), func(id []byte) bool { return erased[run.ID(id)] })
	}
	return is, nil
}

// cut takes a place apart, which is what two texts are put together to; both are empty at the beginning.
func (p erasedPart) cut() (first, second string) {
	first, second, _ = strings.Cut(p.after, "\n")
	return first, second
}

// nextOfPart reads the next records of a table in the order of their keys. Of those that are too young it reads only that: were they left out, one
// unit would go through all of them for the next one that is old.
func nextOfPart(table, keys, at string, columns ...string) string {
	after, until, limit := `> $2`, `$3`, `$4`
	if strings.Contains(keys, ",") {
		after, until, limit = `> ($2, $3)`, `$4`, `$5`
	}
	for i, column := range columns {
		columns[i] = `CASE WHEN ` + at + ` < ` + until + ` THEN ` + column + ` ELSE '' END AS ` + column
	}
	return `SELECT ` + keys + `, ` + at + ` < ` + until + ` AS old, ` + strings.Join(columns, ", ") + ` FROM ` + table + ` WHERE tenant_id = $1 AND (` + keys + `) ` + after + ` ORDER BY ` + keys + ` LIMIT ` + limit
}

// hookDeliveries removes deliveries that name somebody, or a run that was removed. Where somebody is meant, one that nobody can
// decrypt is removed, too; where nobody is, none is decrypted.
func (p erasedPart) hookDeliveries(ctx context.Context) (next string, removed int, err error) {
	trg, id := p.cut()
	var rows []struct {
		Trigger string `db:"trigger_id"`
		ID      string `db:"id"`
		Old     bool   `db:"old"`
		Runs    string `db:"runs"`
		Sealed  string `db:"sealed"`
	}
	columns, limit := []string{"runs", "sealed"}, fewRecords
	if p.name == "" {
		columns, limit = columns[:1], manyRecords
	}
	err = p.ReadRows(ctx, "read deliveries to hooks", &rows, nextOfPart("hook_deliveries", "trigger_id, id", "received_at", columns...), string(p.owner), trg, id, p.until, limit)
	if err != nil || len(rows) == 0 {
		return "", 0, err
	}
	started := make([][]byte, len(rows))
	for i, row := range rows {
		started[i] = []byte(row.Runs)
	}
	ofErased, err := p.ofErased(ctx, started)
	if err != nil {
		return "", 0, err
	}
	for i, row := range rows {
		if !row.Old {
			continue
		}
		is := ofErased[i]
		if !is && p.name != "" {
			d := &hook.Received{ID: hook.DeliveryID(row.ID), Tenant: p.owner, Trigger: trigger.ID(row.Trigger)}
			plain, err := p.OpenText(ctx, row.Sealed, sealedField(d))
			if err != nil && !outbound.IsUnreadableSecret(err) {
				return "", removed, err
			}
			head, body, _ := strings.Cut(plain, "\n")
			is = err != nil || p.mentioned([]byte(head)) || p.mentioned([]byte(body))
		}
		if !is {
			continue
		}
		if err := p.removeDelivery(ctx, p.owner, row.Trigger, row.ID); err != nil {
			return "", removed, err
		}
		removed++
	}
	return rows[len(rows)-1].Trigger + "\n" + rows[len(rows)-1].ID, removed, nil
}

// events removes those whose runs were removed before.
func (p erasedPart) events(ctx context.Context, of job.Subject) (next string, removed job.Removed, err error) {
	var rows []struct {
		ID        string `db:"id"`
		Old       bool   `db:"old"`
		SubTenant string `db:"sub_tenant_id"`
		Data      string `db:"data"`
	}
	err = p.ReadRows(ctx, "read events", &rows, nextOfPart("webhook_events", "id", "happened_at", "sub_tenant_id", "data"), string(p.owner), p.after, p.until, someEvents)
	if err != nil || len(rows) == 0 {
		return "", removed, err
	}
	var ids []event.ID
	for _, row := range rows {
		var about struct {
			Entity *string `json:"entityId"`
		}
		is := of == job.OfSubTenant && row.SubTenant == p.name
		if of == job.OfEntity && json.Unmarshal([]byte(row.Data), &about) == nil {
			is = about.Entity != nil && *about.Entity == p.name
		}
		if row.Old && is {
			ids = append(ids, event.ID(row.ID))
		}
	}
	removed, err = p.removeEvents(ctx, p.owner, ids)
	return rows[len(rows)-1].ID, removed, err
}

func (p erasedPart) answers(ctx context.Context) (next string, removed int, err error) {
	scope, key := p.cut()
	var rows []struct {
		answerRow
		Old bool `db:"old"`
	}
	err = p.ReadRows(ctx, "read answers", &rows, nextOfPart("outcomes", "scope, key", "created_at", "answer"), string(p.owner), scope, key, p.until, manyRecords)
	if err != nil || len(rows) == 0 {
		return "", 0, err
	}
	texts := make([][]byte, len(rows))
	for i, row := range rows {
		if !row.Old {
			continue
		}
		answer, err := p.openAnswer(ctx, p.owner, row.answerRow)
		if err != nil {
			return "", 0, err
		}
		texts[i] = slices.Concat([]byte(row.Scope+"\n"), answer)
	}
	ofErased, err := p.ofErased(ctx, texts)
	if err != nil {
		return "", 0, err
	}
	for i, row := range rows {
		if !row.Old {
			continue
		}
		answer := texts[i][len(row.Scope)+1:]
		if !ofErased[i] && !p.mentioned(answer) && !p.mentioned([]byte(row.Key)) && !p.mentioned([]byte(row.Scope)) {
			continue
		}
		if err := p.removeAnswer(ctx, p.owner, row.answerRow); err != nil {
			return "", removed, err
		}
		removed++
	}
	last := rows[len(rows)-1]
	return last.Scope + "\n" + last.Key, removed, nil
}

// samples removes sample data of nodes.
func (p erasedPart) samples(ctx context.Context) (next string, removed int, err error) {
	var rows []struct {
		ID   string `db:"id"`
		Pins string `db:"pins"`
	}
	err = p.ReadRows(ctx, "read sample data", &rows, `SELECT id, pins FROM workflow_versions WHERE tenant_id = $1 AND id > $2 AND pins IS NOT NULL ORDER BY id LIMIT $3`,
		string(p.owner), p.after, fewRecords)
	if err != nil || len(rows) == 0 {
		return "", 0, err
	}
	for _, row := range rows {
		if !p.mentioned([]byte(row.Pins)) {
			continue
		}
		var pins map[string]json.RawMessage
		if err := json.Unmarshal([]byte(row.Pins), &pins); err != nil {
			return "", removed, fmt.Errorf("sample data of version %s: %w", row.ID, err)
		}
		before := len(pins)
		maps.DeleteFunc(pins, func(_ string, sample json.RawMessage) bool { return p.mentioned(sample) })
		left := (*string)(nil)
		if len(pins) > 0 {
			text, err := json.Marshal(pins)
			if err != nil {
				return "", removed, err
			}
			kept := string(text)
			left = &kept
		}
		if _, err := p.Exec(ctx, "erase sample data", `UPDATE workflow_versions SET pins = $1, revision = revision + 1 WHERE tenant_id = $2 AND id = $3`, left, string(p.owner), row.ID); err != nil {
			return "", removed, err
		}
		removed += before - len(pins)
	}
	return rows[len(rows)-1].ID, removed, nil
}

// jobs removes jobs that have ended.
func (p erasedPart) jobs(ctx context.Context, but job.ID) (next string, removed int, err error) {
	var rows []struct {
		ID     string `db:"id"`
		Filter string `db:"filter"`
	}
	err = p.ReadRows(ctx, "read jobs", &rows, `SELECT id, filter FROM jobs WHERE tenant_id = $1 AND id > $2 AND id <> $3 AND created_at < $4 AND status <> 'running' ORDER BY id LIMIT $5`,
		string(p.owner), p.after, string(but), p.until, manyRecords)
	if err != nil || len(rows) == 0 {
		return "", 0, err
	}
	for _, row := range rows {
		if !p.mentioned([]byte(row.Filter)) {
			continue
		}
		if _, err := p.Exec(ctx, "remove a job", `DELETE FROM jobs WHERE tenant_id = $1 AND id = $2`, string(p.owner), row.ID); err != nil {
			return "", removed, err
		}
		removed++
	}
	return rows[len(rows)-1].ID, removed, nil
}

// ofKeys are the keys and embed tokens of a subject, or of a sub-tenant; false for nobody's.
func ofKeys(j *job.Job, until time.Time) (condition string, args []any, is bool) {
	switch j.Erasure().Subject {
	case job.OfSubTenant:
		condition = `tenant_id = $1 AND sub_tenant_id = $2 AND created_at < $3`
	case job.OfEntity:
		condition = `tenant_id = $1 AND subject = $2 AND created_at < $3`
	default:
		return "", nil, false
	}
	return condition, []any{string(j.Tenant()), j.Name(), until}, true
}

// RevokeKeys revokes what the part of keys removes later, and what has not expired: there may be hundreds of thousands of old embed tokens.
func (s erasures) RevokeKeys(ctx context.Context, j *job.Job, now time.Time) error {
	until, err := runs.Until(j)
	if err != nil {
		return s.Fail(err)
	}
	condition, args, is := ofKeys(j, until)
	if !is {
		return nil
	}
	s.NoteChange(j.Tenant())
	_, err = s.Exec(ctx, "revoke keys", `UPDATE narrowed_keys SET revoked_at = $4, revision = revision + 1 WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4) AND `+condition, append(args, now)...)
	return err
}

// keys removes keys, which were revoked when the erasure was asked for.
func (p erasedPart) keys(ctx context.Context) (next string, removed int, err error) {
	condition, args, is := ofKeys(p.job, p.until)
	if !is {
		return "", 0, nil
	}
	err = p.ReadRow(ctx, "find the next keys", &next, `SELECT coalesce(max(id), '') FROM (SELECT id FROM narrowed_keys WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3) k`,
		string(p.owner), p.after, manyRecords)
	if err != nil || next == "" {
		return "", 0, err
	}
	n, err := p.Exec(ctx, "remove keys", `DELETE FROM narrowed_keys WHERE id > $4 AND id <= $5 AND `+condition, append(args, p.after, next)...)
	if n > 0 {
		p.NoteChange(p.owner)
	}
	return next, int(n), err
}

// notices removes what other processes were told of a sub-tenant, where that is kept. They are told of no entity.
func (p erasedPart) notices(ctx context.Context, of job.Subject) error {
	if !p.store.dialect.KeepsNotices || of != job.OfSubTenant {
		return nil
	}
	name, err := json.Marshal(p.name)
	if err != nil {
		return err
	}
	pattern := `%{"t":"` + strings.ReplaceAll(string(p.owner), `_`, `\_`) + `","s":` + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, ` `, `\\u0020`).Replace(string(name)) + "%"
	_, err = p.Exec(ctx, "remove notices", `DELETE FROM notices WHERE topic = $1 AND payload LIKE $2 ESCAPE '\'`, core.ListTopic, pattern)
	return err
}

// erasedRuns forgets what was removed, a few at a time.
func (p erasedPart) erasedRuns(ctx context.Context) (next string, err error) {
	n, err := p.ofRuns().Forget(ctx, p.job, manyRuns)
	if n > 0 {
		next = "more"
	}
	return next, err
}
