package runs

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// PageOfRuns is the statement that reads a page of runs without counting all that fit,
// and CountOfRuns the one that counts; both with their arguments.
func PageOfRuns(s *Store, owner tenant.ID, f run.Filter, q domain.Query) (page, count string, args []any, err error) {
	l := runList{core.NewList("runs", "id", tenant.All(owner), core.ScopeCondition{}, sorted)}
	page, count, err = l.ofRuns(tenant.All(owner), f, q, s.dialect)
	return strings.Replace(page, "("+count+") AS total", "0 AS total", 1), count, l.Args, err
}

// PageOfPauses is the statement that reads a page of questions without counting all that fit, with its arguments.
func PageOfPauses(owner tenant.ID, f run.PauseFilter, q domain.Query) (page string, args []any, err error) {
	l := listPauses(tenant.All(owner), f)
	order, err := l.Order(q)
	page = `SELECT ` + l.Columns + ` FROM pauses WHERE ` + strings.Join(append([]string{"tenant_id = $1"}, l.Where...), ` AND `) + order + l.Limit(q)
	return page, l.Args, err
}

// AwaitingOfRuns is the statement that finds what runs wait for.
func AwaitingOfRuns(s *Store, owner tenant.ID, q outbound.AwaitingQuery) (query string, args []any, err error) {
	return repository{&unit{store: s}}.awaiting(tenant.All(owner), q)
}

// LiveOrigins is the statement that finds what unfinished runs came from, with arguments to
// begin with the first.
func LiveOrigins(s *Store) (query string, args []any) {
	return s.dialect.liveOrigins(), []any{"", "", 500}
}

// Unfinished is the statement that finds whether a trigger has unfinished runs. 0.1.0, which may
// run at the same time, has the same.
func Unfinished(s *Store, owner, id string) (query string, args []any) {
	table, parameter, err := s.dialect.Keys([]core.KeyRow{{Tenant: owner, ID: id}})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return unfinished(table), []any{parameter}
}

// LetGo is the statement that lets runs of a lane go.
func LetGo(s *Store, owner, lane string) (query string, args []any) {
	return s.letGo, []any{owner, lane}
}

// Turns is the statement that looks for runs to lease.
func Turns(s *Store, now time.Time) (query string, args []any) {
	return s.dialect.Turns, []any{now, 10, 10, "", 9, true}
}

// EndedItems is the statement that finds which of the first items of a loop have ended.
func EndedItems(s *Store, owner string, itemRun run.ID, count int) (query string, args []any) {
	of := loops{repository{&unit{store: s}}}
	table, parameter, err := of.items(&loopRow{Tenant: owner, ItemRun: string(itemRun), Count: count}, 0, maxLook)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return endedItems(table, `'completed'`), []any{parameter, maxLook}
}

// Statuses is the statement that finds the statuses of runs.
func Statuses(s *Store, owner, id string) (query string, args []any) {
	table, parameter, err := s.dialect.Keys([]core.KeyRow{{Tenant: owner, ID: id}})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return statusesOf(table, ""), []any{parameter}
}

// ReadLeased is the statement that reads a run that was leased, Lease the one that leases it, and RecordStep one that
// records a step of it, for any worker.
func ReadLeased(s *Store, owner, id string) (query string, args []any) {
	table, parameter, err := s.dialect.Keys([]core.KeyRow{{Tenant: owner, ID: id}})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return s.dialect.readEach(leasedColumns, table), []any{parameter}
}

func Lease(s *Store, owner, id string) (query string, args []any) {
	now := time.Now()
	return s.dialect.Lease, []any{fmt.Sprintf(`[{"owner_id":%q,"run_id":%q,"place":"0"}]`, owner, id), now, now.Add(time.Minute), "worker", 1 << 20, 1}
}

func RecordStep(s *Store, owner, id string) (query string, args []any) {
	const step = `[{"tenant_id":%q,"id":%q,"trigger_id":"trg_0","workflow_id":"wf_0","status":"paused","seq":"4","from_seq":"3","number":"0","ends":"false","woken":"0",
		"progress":"{}","outputs":"0","size":"2","updated_at":"2025-11-21T12:00:00Z","ready":"false","last":"4","lane":"","lane_limit":"0"}]`
	return s.record, []any{fmt.Sprintf(step, owner, id)}
}

// Sweep is the statement that removes old runs, and KeptShorter the one that finds whose are kept for days of their own.
func Sweep(s *Store, q outbound.RunSweep) (query string, args []any) { return s.dialect.sweep(q) }

const KeptShorter = keptShorter

// PageOfAllRuns is the statement that reads a page of the runs of all tenants without counting all that fit, and
// the one that counts; both with their arguments.
func PageOfAllRuns(s *Store, f run.OperatorFilter, q domain.Query) (page, count string, args []any, err error) {
	l := core.NewListOfAll("runs", "r.*", sorted)
	page, count, err = pageOfAll(l, f, q, s.dialect)
	return strings.Replace(page, "("+count+") AS total", "0 AS total", 1), count, l.Args, err
}

// FindRun is the statement that finds a run of any tenant.
const FindRun = findRun
