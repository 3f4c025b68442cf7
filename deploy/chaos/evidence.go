package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// evidence is everything that is known at the end of a round.
type evidence struct {
	orders    []*order
	tenants   []*tenant
	scenarios []*scenario
	runs      map[string]*storedRun // all runs in the database, by id
	fires     []storedFire
	events    []storedEvent
	effects   map[string]effect
	delivered map[string]deliveredEvent
	shown     map[string]apiRun  // what the API shows of some runs
	listed    map[string]listing // what it lists for each tenant
	since     map[string]time.Time
	engine    string
	disturbed []span    // when something ended, froze or was cut
	until     time.Time // every instant of a schedule before it is to be dealt with
}

// storedRun is a run in the database.
type storedRun struct {
	id, tenant, trigger, entity, dedupe, cause, status string
	parent                                             string // that started it; empty for none
	seq                                                int64
	payload                                            string
	call                                               string // that the payload names; empty for none
	worker, engine                                     string
	leased, finished, item                             bool
	history                                            []entry
}

// entry is one of a run's history, as the database keeps it.
type entry struct {
	Seq     int64
	At      int64 // Unix milliseconds
	Type    string
	Node    string
	Attempt int
	Code    string
	Message string
}

// storedFire is a row of the ledger of schedules.
type storedFire struct {
	tenant, trigger, outcome, reason, run string
	at                                    time.Time
}

// storedEvent is an event that the database holds.
type storedEvent struct{ tenant, id, kind, run string }

// listing is what the API lists of a tenant's runs.
type listing struct {
	total     int
	ids       []string
	completed int // the total of those
}

// awaitQuiet waits until no run is unfinished and the event of every end was delivered, or as long as it
// may take. Deliveries that are to be repeated in minutes are brought forward.
func (e *env) awaitQuiet(ctx context.Context) {
	began := time.Now()
	for ctx.Err() == nil && time.Since(began) < e.settle {
		var open, untold int
		err := e.database.DB.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM runs WHERE finished_at IS NULL),
			(SELECT count(*) FROM webhook_events WHERE waits) + (SELECT count(*) FROM webhook_deliveries WHERE status = 'pending')`).Scan(&open, &untold)
		if err == nil && open == 0 && untold == 0 {
			return
		}
		if err == nil && open == 0 {
			_, err = e.database.DB.ExecContext(ctx, `UPDATE webhook_deliveries SET next_attempt_at = now()
				WHERE status = 'pending' AND next_attempt_at > now() + interval '10 s'`)
		}
		if err != nil {
			e.logf("looking for what is left: %v", err)
		} else if time.Since(began) > 10*time.Second {
			e.logf("%d runs are not over and %d ends not told", open, untold)
		}
		harness.Sleep(ctx, time.Second)
	}
}

// evidence reads everything.
func (e *env) evidence(ctx context.Context, orders []*order, until time.Time) (*evidence, error) {
	ev := &evidence{
		orders: orders, tenants: e.tenants, scenarios: e.scenarios, runs: make(map[string]*storedRun), effects: e.receiver.effects(), delivered: e.listener.deliveredEvents(),
		shown: make(map[string]apiRun), listed: make(map[string]listing), since: make(map[string]time.Time),
		until: until, engine: e.engine, disturbed: e.disturbances(),
	}
	for _, t := range e.tenants {
		ev.since[t.id] = e.schedules.since(t.id)
		if err := e.list(ctx, t, ev); err != nil {
			return nil, err
		}
	}
	if err := e.readRuns(ctx, ev); err != nil {
		return nil, err
	}
	if err := e.readRest(ctx, ev); err != nil {
		return nil, err
	}
	e.readRunsOverAPI(ctx, ev)
	return ev, nil
}

// list reads all pages of a tenant's runs.
func (e *env) list(ctx context.Context, t *tenant, ev *evidence) error {
	runs, total, err := harness.List[struct{ ID string }](ctx, e.get(t), "/runs?include=children")
	if err != nil {
		return err
	}
	all := listing{total: total}
	for _, r := range runs {
		all.ids = append(all.ids, r.ID)
	}
	var completed struct{ Total int }
	err = e.get(t)(ctx, "/runs?status=completed&limit=1&include=children", &completed)
	all.completed = completed.Total
	ev.listed[t.id] = all
	return err
}

// readRuns reads runs and their histories.
func (e *env) readRuns(ctx context.Context, ev *evidence) error {
	err := e.database.Each(ctx, func(scan func(...any) error) error {
		r := new(storedRun)
		err := scan(&r.tenant, &r.id, &r.trigger, &r.entity, &r.dedupe, &r.cause, &r.status, &r.seq, &r.payload, &r.worker, &r.leased, &r.finished, &r.parent, &r.engine, &r.item)
		if err != nil {
			return err
		}
		var payload struct{ Call string }
		_ = json.Unmarshal([]byte(r.payload), &payload) // that of a schedule names none
		r.call, ev.runs[r.id] = payload.Call, r
		return nil
	}, `SELECT r.tenant_id, r.id, r.trigger_id, r.entity_id, r.dedupe_key, r.cause, r.status, r.seq, r.payload, coalesce(l.worker, ''), l.lease_until IS NOT NULL, r.finished_at IS NOT NULL, r.parent_run_id, r.engine, r.item_index IS NOT NULL
		FROM runs r LEFT JOIN live_runs l ON l.tenant_id = r.tenant_id AND l.id = r.id`)
	if err != nil {
		return err
	}
	return e.database.Each(ctx, func(scan func(...any) error) error {
		var id, text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		var entries []entry
		if err := json.Unmarshal([]byte(text), &entries); err != nil {
			return fmt.Errorf("history of %s: %w", id, err)
		}
		if r := ev.runs[id]; r != nil {
			r.history = append(r.history, entries...)
		}
		return nil
	}, `SELECT run_id, entries FROM run_history ORDER BY run_id, seq`)
}

// readRest reads the ledger and the events.
func (e *env) readRest(ctx context.Context, ev *evidence) error {
	err := e.database.Each(ctx, func(scan func(...any) error) error {
		var f storedFire
		err := scan(&f.tenant, &f.trigger, &f.at, &f.outcome, &f.reason, &f.run)
		f.at = f.at.UTC()
		ev.fires = append(ev.fires, f)
		return err
	}, `SELECT tenant_id, trigger_id, scheduled_at, outcome, reason, run_id FROM trigger_fires ORDER BY tenant_id, trigger_id, scheduled_at`)
	if err != nil {
		return err
	}
	return e.database.Each(ctx, func(scan func(...any) error) error {
		var e storedEvent
		var data string
		if err := scan(&e.tenant, &e.id, &e.kind, &data); err != nil {
			return err
		}
		var read struct{ RunID string }
		err := json.Unmarshal([]byte(data), &read)
		e.run = read.RunID
		ev.events = append(ev.events, e)
		return err
	}, `SELECT tenant_id, id, type, data FROM webhook_events WHERE type IN ('run.completed', 'run.failed', 'run.cancelled')`)
}

// maxRunsRead is how many runs are read one by one over the API.
const maxRunsRead = 400

// readRunsOverAPI reads some runs as their tenants see them, and tries to as another tenant.
func (e *env) readRunsOverAPI(ctx context.Context, ev *evidence) {
	step := max(1, len(ev.orders)/maxRunsRead)
	for i := 0; i < len(ev.orders); i += step {
		o := ev.orders[i]
		if o.run() == "" {
			continue
		}
		if r, ok := e.getRun(ctx, o); ok {
			ev.shown[o.run()] = r
		}
		other := e.tenants[0]
		if other == o.tenant {
			other = e.tenants[1]
		}
		for _, r := range []harness.Request{
			{Method: http.MethodGet, Path: "/runs/" + o.run()},
			{Method: http.MethodPost, Path: "/runs/" + o.run() + "/cancel"},
			{Method: http.MethodPost, Path: "/triggers/" + o.tenant.triggers[o.scenario.name] + "/webhook"},
		} {
			if got, ok := e.clients.do(ctx, other.key, r); ok && got.Status != http.StatusNotFound {
				e.found.add(tenantsIsolated, "%s %s with the key of %s was answered %d: %s", r.Method, r.Path, other.name, got.Status, got.Body)
			}
		}
	}
}
