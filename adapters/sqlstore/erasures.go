package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type erasures struct{ *unit }

var _ outbound.ErasureRepository = erasures{}

func (s erasures) ofRuns() runs.Erasures { return s.store.Runs.Erasures(s.Unit) }

// Take takes runs, and those above them.
func (s erasures) Take(ctx context.Context, j *job.Job, limit int) (taken int, removed job.Removed, err error) {
	found, err := s.ofRuns().Find(ctx, j, limit)
	if err != nil || len(found) == 0 {
		return 0, removed, err
	}
	ended, live, err := s.ofRuns().Above(ctx, j.Tenant(), found)
	if err != nil {
		return 0, removed, err
	}
	ended = slices.DeleteFunc(ended, func(id run.ID) bool { return slices.Contains(found, id) })
	removed, live, err = s.removeEnded(ctx, j, ended, live)
	if err != nil {
		return 0, removed, err
	}
	taken, err = s.ofRuns().Give(ctx, j, append(found, live...))
	return taken, removed, err
}

// removeEnded removes runs that have ended, and adds to the live ones those that somebody has retried meanwhile.
func (s erasures) removeEnded(ctx context.Context, j *job.Job, ended, live []run.ID) (removed job.Removed, all []run.ID, err error) {
	if len(ended) == 0 {
		return removed, live, nil
	}
	times, err := s.ofRuns().Past(ctx, j.Tenant(), ended)
	if err != nil {
		return removed, nil, err
	}
	gone, err := s.ofRuns().Remove(ctx, j.Tenant(), j.ID(), ended, true)
	if err != nil {
		return removed, nil, err
	}
	removed, err = s.removeEventsOf(ctx, j.Tenant(), times, gone)
	removed.Runs = len(gone)
	return removed, append(live, slices.DeleteFunc(ended, func(id run.ID) bool { return slices.Contains(gone, id) })...), err
}

// TakeChildren takes runs below some.
func (s erasures) TakeChildren(ctx context.Context, j *job.Job, of []run.ID, limit int) (int, error) {
	return s.ofRuns().GiveChildren(ctx, j, of, limit)
}

// Children finds runs below one.
func (s erasures) Children(ctx context.Context, scope tenant.Scope, of run.ID, limit int) ([]run.ID, error) {
	return s.ofRuns().Children(ctx, scope, of, limit)
}

// Unfinished looks at a run and those around it.
func (s erasures) Unfinished(ctx context.Context, owner tenant.ID, of run.ID) (run.ID, error) {
	return s.ofRuns().Unfinished(ctx, owner, of)
}

// Overwrite asks for it once the unit has committed.
func (s erasures) Overwrite(context.Context) error {
	s.NoteErased()
	return nil
}

// RemoveRuns removes runs. What is kept for a day, or for a part of a hook's deliveries, is looked for where a single one is
// removed; an erasure goes through all of it.
func (s erasures) RemoveRuns(ctx context.Context, owner tenant.ID, of job.ID, all ...run.ID) (removed job.Removed, err error) {
	times, err := s.ofRuns().Past(ctx, owner, all)
	if err != nil {
		return removed, err
	}
	if removed, err = s.removeEventsOf(ctx, owner, times, all); err != nil {
		return removed, err
	}
	gone, err := s.ofRuns().Remove(ctx, owner, of, all, of == "")
	if removed.Runs = len(gone); err != nil || of != "" || len(gone) == 0 {
		return removed, err
	}
	names := func(text string) bool {
		return slices.ContainsFunc(all, func(id run.ID) bool { return strings.Contains(text, string(id)) })
	}
	if removed.HookDeliveries, err = s.removeDeliveriesOf(ctx, owner, times, names); err != nil {
		return removed, err
	}
	removed.Answers, err = s.removeAnswersAround(ctx, owner, times, names)
	return removed, err
}

// instantRow is a row of [core.Dialect.Rows].
type instantRow struct {
	At string `json:"at"`
}

// eventsAt finds the events of a tenant that happened at the times in a table r; an index has them.
func (s erasures) eventsAt() string {
	return `SELECT e.id, e.data FROM ` + s.store.dialect.Rows(1, core.Column{Name: "at", Time: true}) + ` CROSS JOIN webhook_events e WHERE e.happened_at = r.at AND e.tenant_id = $2`
}

// removeEventsOf removes events of runs: each happened when an entry of a history says.
func (s erasures) removeEventsOf(ctx context.Context, owner tenant.ID, times map[int64]bool, all []run.ID) (removed job.Removed, err error) {
	var at []instantRow
	for ms := range times {
		at = append(at, instantRow{time.UnixMilli(ms).UTC().Format(core.TimeFormat)})
	}
	for part := range slices.Chunk(at, 1000) {
		text, err := json.Marshal(part)
		if err != nil {
			return removed, s.Fail(err)
		}
		var rows []struct {
			ID   string `db:"id"`
			Data string `db:"data"`
		}
		if err := s.ReadRows(ctx, "find events of runs", &rows, s.eventsAt(), string(text), string(owner)); err != nil {
			return removed, s.Fail(err)
		}
		var ids []string
		for _, row := range rows {
			var about struct {
				Run run.ID `json:"runId"`
			}
			if json.Unmarshal([]byte(row.Data), &about) == nil && slices.Contains(all, about.Run) {
				ids = append(ids, row.ID)
			}
		}
		more, err := s.removeEvents(ctx, owner, ids)
		if removed = removed.Plus(more); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeEvents removes events with their deliveries.
func (s erasures) removeEvents(ctx context.Context, owner tenant.ID, ids []string) (removed job.Removed, err error) {
	if len(ids) == 0 {
		return removed, nil
	}
	keys := make([]core.KeyRow, len(ids))
	for i, id := range ids {
		keys[i] = core.KeyRow{Tenant: string(owner), ID: id}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return removed, s.Fail(err)
	}
	deliveries, err := s.Exec(ctx, "remove deliveries of events", `DELETE FROM webhook_deliveries WHERE tenant_id = $2 AND event_id IN (SELECT r.id FROM `+table+`)`, parameter, string(owner))
	if err != nil {
		return removed, err
	}
	events, err := s.Exec(ctx, "remove events", `DELETE FROM webhook_events WHERE tenant_id = $2 AND id IN (SELECT r.id FROM `+table+`)`, parameter, string(owner))
	removed.Deliveries, removed.Events = int(deliveries), int(events)
	return removed, err
}

// around is by how much what is kept with a run may be older or younger than what its history says.
const around = time.Minute

// removeDeliveriesOf removes the deliveries to hooks that started or continued runs.
func (s erasures) removeDeliveriesOf(ctx context.Context, owner tenant.ID, times map[int64]bool, names func(text string) bool) (removed int, err error) {
	first := time.Now()
	for ms := range times {
		if at := time.UnixMilli(ms); at.Before(first) {
			first = at
		}
	}
	var rows []struct {
		Trigger string `db:"trigger_id"`
		ID      string `db:"id"`
		Runs    string `db:"runs"`
	}
	err = s.ReadRows(ctx, "find deliveries of runs", &rows, `SELECT trigger_id, id, runs FROM hook_deliveries WHERE tenant_id = $1 AND received_at >= $2 AND runs <> ''`,
		string(owner), first.Add(-around).UTC())
	if err != nil {
		return 0, s.Fail(err)
	}
	for _, row := range rows {
		if !names(row.Runs) {
			continue
		}
		if err := s.removeDelivery(ctx, owner, row.Trigger, row.ID); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

func (s erasures) removeDelivery(ctx context.Context, owner tenant.ID, trigger, id string) error {
	_, err := s.Exec(ctx, "remove a delivery to a hook", `DELETE FROM hook_deliveries WHERE tenant_id = $1 AND trigger_id = $2 AND id = $3`, string(owner), trigger, id)
	return err
}

type answerRow struct {
	Scope  string `db:"scope"`
	Key    string `db:"key"`
	Answer []byte `db:"answer"`
}

// open is the answer as it was given; nil where nobody can decrypt it.
func (s erasures) openAnswer(ctx context.Context, owner tenant.ID, row answerRow) ([]byte, error) {
	plain, err := s.OpenOf01(ctx, row.Answer, answerOf(owner, domain.IdempotencyKey{Scope: row.Scope, Key: row.Key}))
	if outbound.IsUnreadableSecret(err) {
		return nil, nil
	}
	return plain, err
}

func (s erasures) removeAnswer(ctx context.Context, owner tenant.ID, row answerRow) error {
	_, err := s.Exec(ctx, "remove an answer", `DELETE FROM outcomes WHERE tenant_id = $1 AND scope = $2 AND key = $3`, string(owner), row.Scope, row.Key)
	return err
}

// removeAnswersAround removes answers that name runs and were given when something happened to them.
func (s erasures) removeAnswersAround(ctx context.Context, owner tenant.ID, times map[int64]bool, names func(text string) bool) (removed int, err error) {
	for _, span := range spans(times) {
		var rows []answerRow
		err := s.ReadRows(ctx, "find answers", &rows, `SELECT scope, key, answer FROM outcomes WHERE created_at >= $2 AND created_at <= $3 AND tenant_id = $1`, string(owner), span[0], span[1])
		if err != nil {
			return removed, s.Fail(err)
		}
		for _, row := range rows {
			answer, err := s.openAnswer(ctx, owner, row)
			if err != nil {
				return removed, s.Fail(err)
			}
			if !names(row.Scope) && !names(string(answer)) {
				continue
			}
			if err := s.removeAnswer(ctx, owner, row); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// spans are the times between which something may be kept that belongs to others, each once.
func spans(times map[int64]bool) (all [][2]time.Time) {
	var sorted []time.Time
	for ms := range times {
		sorted = append(sorted, time.UnixMilli(ms).UTC())
	}
	slices.SortFunc(sorted, func(a, b time.Time) int { return cmp.Compare(a.UnixNano(), b.UnixNano()) })
	for _, at := range sorted {
		from, to := at.Add(-around), at.Add(around)
		if last := len(all) - 1; last >= 0 && !from.After(all[last][1]) {
			all[last][1] = to
			continue
		}
		all = append(all, [2]time.Time{from, to})
	}
	return all
}
