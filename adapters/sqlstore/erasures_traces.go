package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How much is looked at in one unit for traces of runs.
const (
	timesAtOnce      = 1000
	deliveriesAtOnce = 1000
	answersAtOnce    = 1000 // of any tenant: an index has them by when they were given
)

// around is by how much what is kept with a run may be older or younger than what its history says.
const around = time.Minute

// Times returns when something happened to runs.
func (s erasures) Times(ctx context.Context, owner tenant.ID, of []run.ID) ([]int64, error) {
	return s.ofRuns().Times(ctx, owner, of)
}

// Traces looks for what names runs.
func (s erasures) Traces(ctx context.Context, owner tenant.ID, of []run.ID, times []int64, from outbound.TracePlace) (found outbound.RunTraces, next outbound.TracePlace, err error) {
	t := runTraces{s, owner, of, times}
	if len(times) == 0 {
		return found, next, nil
	}
	switch from.Part {
	case job.HookDeliveries:
		found.Deliveries, next, err = t.deliveries(ctx, from.After)
	case job.Answers:
		found.Answers, next, err = t.answers(ctx, from.After)
	default:
		found.Events, next, err = t.events(ctx, from.After)
	}
	return found, next, err
}

// runTraces is what is looked for.
type runTraces struct {
	erasures
	owner tenant.ID
	runs  []run.ID
	times []int64
}

func (t runTraces) named(text string) bool {
	return slices.ContainsFunc(t.runs, func(id run.ID) bool { return strings.Contains(text, string(id)) })
}

// events finds events of runs: each happened when an entry of a history says.
func (t runTraces) events(ctx context.Context, after string) (ids []event.ID, next outbound.TracePlace, err error) {
	begin, _ := strconv.Atoi(after) // empty for none
	end := min(begin+timesAtOnce, len(t.times))
	if next = (outbound.TracePlace{Part: job.Events, After: strconv.Itoa(end)}); end == len(t.times) {
		next = outbound.TracePlace{Part: job.HookDeliveries}
	}
	ids, err = t.eventsOf(ctx, t.owner, t.times[begin:end], t.runs)
	return ids, next, err
}

// instantRow is a row of [core.Dialect.Rows].
type instantRow struct {
	At string `json:"at"`
}

// eventsAt finds the events of a tenant that happened at the times in a table r; an index has them.
func (s *Store) eventsAt() string {
	return `SELECT e.id, e.data FROM ` + s.dialect.Rows(1, core.Column{Name: "at", Time: true}) + ` CROSS JOIN webhook_events e WHERE e.happened_at = r.at AND e.tenant_id = $2`
}

func (s erasures) eventsOf(ctx context.Context, owner tenant.ID, times []int64, of []run.ID) (ids []event.ID, err error) {
	at := make([]instantRow, len(times))
	for i, ms := range times {
		at[i] = instantRow{time.UnixMilli(ms).UTC().Format(core.TimeFormat)}
	}
	text, err := json.Marshal(at)
	if err != nil {
		return nil, s.Fail(err)
	}
	var rows []struct {
		ID   string `db:"id"`
		Data string `db:"data"`
	}
	if err := s.ReadRows(ctx, "find events of runs", &rows, s.store.eventsAt(), string(text), string(owner)); err != nil {
		return nil, s.Fail(err)
	}
	for _, row := range rows {
		var about struct {
			Run run.ID `json:"runId"`
		}
		if json.Unmarshal([]byte(row.Data), &about) == nil && slices.Contains(of, about.Run) {
			ids = append(ids, event.ID(row.ID))
		}
	}
	return ids, nil
}

// nextDeliveries are a tenant's, whatever hook they were sent to: a sender may repeat what started a run long ago, and that names the run, too.
const nextDeliveries = `SELECT trigger_id, id, runs, received_at FROM hook_deliveries WHERE tenant_id = $1 AND received_at >= $2 AND (received_at > $2 OR (trigger_id, id) > ($3, $4))
	ORDER BY received_at, trigger_id, id LIMIT $5`

// deliveries finds deliveries to hooks that started or continued runs.
func (t runTraces) deliveries(ctx context.Context, after string) (found []outbound.HookDelivery, next outbound.TracePlace, err error) {
	from, trg, id := time.UnixMilli(t.times[0]).Add(-around).UTC(), "", ""
	if after != "" {
		at, rest, _ := strings.Cut(after, "\n")
		trg, id, _ = strings.Cut(rest, "\n")
		if from, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, next, t.Fail(err)
		}
	}
	var rows []struct {
		Trigger string    `db:"trigger_id"`
		ID      string    `db:"id"`
		Runs    string    `db:"runs"`
		At      time.Time `db:"received_at"`
	}
	if err := t.ReadRows(ctx, "find deliveries of runs", &rows, nextDeliveries, string(t.owner), from, trg, id, deliveriesAtOnce); err != nil {
		return nil, next, t.Fail(err)
	}
	for _, row := range rows {
		if t.named(row.Runs) {
			found = append(found, outbound.HookDelivery{Trigger: trigger.ID(row.Trigger), ID: hook.DeliveryID(row.ID)})
		}
	}
	if len(rows) < deliveriesAtOnce {
		return found, outbound.TracePlace{Part: job.Answers}, nil
	}
	last := rows[len(rows)-1]
	return found, outbound.TracePlace{Part: job.HookDeliveries, After: last.At.UTC().Format(time.RFC3339Nano) + "\n" + last.Trigger + "\n" + last.ID}, nil
}

const (
	oldestAnswer = `SELECT created_at FROM outcomes ORDER BY created_at LIMIT 1`
	// enoughAnswers is when the last one of a unit was given.
	enoughAnswers = `SELECT created_at FROM outcomes WHERE created_at >= $1 AND created_at < $2 ORDER BY created_at LIMIT 1 OFFSET $3`
	answersOf     = `SELECT scope, key, answer FROM outcomes WHERE created_at >= $2 AND created_at < $3 AND tenant_id || '' = $1` // by time: the index of tenants has all of theirs
)

// answers finds answers that name runs and were given when something happened to them.
func (t runTraces) answers(ctx context.Context, after string) (found []domain.IdempotencyKey, next outbound.TracePlace, err error) {
	var from time.Time
	if after == "" { // none is older
		var oldest []core.Instant
		if err := t.ReadRows(ctx, "find the oldest answer", &oldest, oldestAnswer); err != nil || len(oldest) == 0 {
			return nil, next, err
		}
		from = oldest[0].UTC()
	} else if from, err = time.Parse(time.RFC3339Nano, after); err != nil {
		return nil, next, t.Fail(err)
	}
	from, to, is := t.nearest(from)
	if !is {
		return nil, next, nil
	}
	var enough []core.Instant
	if err := t.ReadRows(ctx, "find how many answers are enough", &enough, enoughAnswers, from, to, answersAtOnce); err != nil {
		return nil, next, t.Fail(err)
	}
	if len(enough) > 0 {
		to = later(enough[0].UTC(), from.Add(time.Millisecond)) // however many were given at once
	}
	var rows []answerRow
	if err := t.ReadRows(ctx, "find answers", &rows, answersOf, string(t.owner), from, to); err != nil {
		return nil, next, t.Fail(err)
	}
	for _, row := range rows {
		answer, err := t.openAnswer(ctx, t.owner, row)
		if err != nil {
			return nil, next, t.Fail(err)
		}
		if t.named(row.Scope) || t.named(string(answer)) {
			found = append(found, domain.IdempotencyKey{Scope: row.Scope, Key: row.Key})
		}
	}
	return found, outbound.TracePlace{Part: job.Answers, After: to.Format(time.RFC3339Nano)}, nil
}

// nearest is the first span from a time on that is around times of the runs.
func (t runTraces) nearest(from time.Time) (begin, end time.Time, is bool) {
	i, _ := slices.BinarySearch(t.times, from.Add(-around).UnixMilli())
	if i == len(t.times) {
		return from, from, false
	}
	first := i
	for i+1 < len(t.times) && t.times[i+1]-t.times[i] <= 2*around.Milliseconds() {
		i++
	}
	return later(time.UnixMilli(t.times[first]).Add(-around).UTC(), from), time.UnixMilli(t.times[i] + 1).Add(around).UTC(), true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// DeleteRuns removes runs that have ended.
func (s erasures) DeleteRuns(ctx context.Context, owner tenant.ID, traces outbound.RunTraces, all ...run.ID) (removed job.Removed, err error) {
	gone, err := s.ofRuns().Remove(ctx, owner, "", all, true)
	if err != nil || len(gone) < len(all) { // what is about those that stay stays
		removed.Runs = len(gone)
		return removed, err
	}
	if removed, err = s.removeEvents(ctx, owner, traces.Events); err != nil {
		return removed, err
	}
	removed.Runs = len(gone)
	for _, d := range traces.Deliveries {
		if err := s.removeDelivery(ctx, owner, string(d.Trigger), string(d.ID)); err != nil {
			return removed, err
		}
		removed.HookDeliveries++
	}
	for _, a := range traces.Answers {
		if err := s.removeAnswer(ctx, owner, answerRow{Scope: a.Scope, Key: a.Key}); err != nil {
			return removed, err
		}
		removed.Answers++
	}
	return removed, nil
}
