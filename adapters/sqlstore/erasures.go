package sqlstore

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
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
	times, err := s.ofRuns().Times(ctx, j.Tenant(), ended)
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

// RemoveRuns removes runs of a job.
func (s erasures) RemoveRuns(ctx context.Context, owner tenant.ID, of job.ID, all ...run.ID) (removed job.Removed, err error) {
	times, err := s.ofRuns().Times(ctx, owner, all)
	if err != nil {
		return removed, err
	}
	if removed, err = s.removeEventsOf(ctx, owner, times, all); err != nil {
		return removed, err
	}
	gone, err := s.ofRuns().Remove(ctx, owner, of, all, false)
	removed.Runs = len(gone)
	return removed, err
}

// removeEventsOf removes events of runs.
func (s erasures) removeEventsOf(ctx context.Context, owner tenant.ID, times []int64, all []run.ID) (removed job.Removed, err error) {
	for part := range slices.Chunk(times, timesAtOnce) {
		ids, err := s.eventsOf(ctx, owner, part, all)
		if err != nil {
			return removed, err
		}
		more, err := s.removeEvents(ctx, owner, ids)
		if removed = removed.Plus(more); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeEvents removes events with their deliveries.
func (s erasures) removeEvents(ctx context.Context, owner tenant.ID, ids []event.ID) (removed job.Removed, err error) {
	if len(ids) == 0 {
		return removed, nil
	}
	keys := make([]core.KeyRow, len(ids))
	for i, id := range ids {
		keys[i] = core.KeyRow{Tenant: string(owner), ID: string(id)}
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
