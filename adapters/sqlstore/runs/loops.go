package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// loops keeps a small row for each node that runs its body, which every recorded batch with ends of
// its items writes, and rows of several items each, which are written once. Who writes the row of a
// node has locked what workers see of its run, so that two units never wait for each other.
type loops struct{ repository }

var _ outbound.RunLoops = loops{}

// outerIndex is the place of what the items of a node look at besides.
const outerIndex = -1

// itemsPerRow is how many items a row holds: one each would make a loop of 10,000 a large unit, and
// with more each item would be sought in much text.
const itemsPerRow = 32

// itemsRow is a row of run_items, and one of [core.Dialect.Rows]. It holds the texts of the items:
// PostgreSQL finds no place in an array that has an escaped NUL somewhere.
type itemsRow struct {
	Index int      `json:"idx"`
	Items []string `json:"items"`
}

// Begin has the payload of the run shared by its items.
func (s loops) Begin(ctx context.Context, of *run.Run, start run.LoopStart, fresh run.ID) error {
	if !s.InTransaction() || !s.Writes() {
		return s.Fail(errUnit)
	}
	owner, id, node := string(of.Tenant()), string(of.ID()), string(start.Node)
	if start.Again {
		_, err := s.Exec(ctx, "let a loop go on", `UPDATE run_loops SET next_item = 0, failed = false, is_left = false
			WHERE tenant_id = $1 AND run_id = $2 AND node_id = $3`, owner, id, node)
		return err
	}
	_, err := s.Exec(ctx, "share the payload of a run", `INSERT INTO run_payloads (tenant_id, id, payload)
		SELECT tenant_id, id, payload FROM runs WHERE tenant_id = $1 AND id = $2 AND payload_id IS NULL ON CONFLICT DO NOTHING`, owner, id)
	if err != nil {
		return err
	}
	var counted []int64
	if err = s.ReadRows(ctx, "count items", &counted, s.store.keepItems, owner, id, start.Size()); err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "begin a loop", `INSERT INTO run_loops (tenant_id, run_id, node_id, items, item_run_id, next_item, live, paused, concurrency, fail_fast, failed, is_left, payload_id)
		SELECT tenant_id, id, CAST($3 AS text), CAST($4 AS integer), CAST($7 AS text), 0, 0, 0, CAST($5 AS integer), CAST($6 AS boolean), false, false, payload_id FROM runs WHERE tenant_id = $1 AND id = $2`,
		owner, id, node, len(start.Items), start.Concurrency, start.FailFast, string(fresh))
	if err != nil {
		return err
	}
	return s.addItems(ctx, owner, id, node, start)
}

// keepItems counts the bytes of items as those of their run, and has it refer to its payload.
func (d dialect) keepItems() string {
	const update = `UPDATE runs SET payload_id = coalesce(payload_id, id), item_bytes = item_bytes + CAST($3 AS bigint), kept = kept + CAST($3 AS bigint)
		WHERE tenant_id = $1 AND id = $2 RETURNING `
	if !d.WritingWith {
		return update + `1`
	}
	return `WITH grown AS (` + update + `tenant_id, CAST($3 AS bigint) AS bytes), ` + d.countBytes("bytes", "grown") + ` SELECT bytes FROM grown`
}

func (s loops) addItems(ctx context.Context, owner, of, node string, start run.LoopStart) error {
	var rows []itemsRow
	if len(start.Outer) > 0 {
		rows = append(rows, itemsRow{outerIndex, []string{asText(start.Outer)}})
	}
	for items := range slices.Chunk(start.Items, itemsPerRow) {
		at := 0
		if n := len(rows); n > 0 && rows[n-1].Index != outerIndex {
			at = rows[n-1].Index + itemsPerRow
		}
		texts := make([]string, len(items))
		for i, item := range items {
			texts[i] = asText(item)
		}
		rows = append(rows, itemsRow{at, texts})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode items: %w", err))
	}
	table := s.store.dialect.Rows(1, core.Column{Name: "idx"}, core.Column{Name: "items", JSON: true})
	_, err = s.Exec(ctx, "keep items", `INSERT INTO run_items (tenant_id, run_id, node_id, idx, items)
		SELECT CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST(r.idx AS integer), r.items FROM `+table, string(text), owner, of, node)
	return err
}

// Leave looks for items only where some are under way.
func (s loops) Leave(ctx context.Context, of *run.Run, nodes ...workflow.NodeID) error {
	if !s.InTransaction() || !s.Writes() {
		return s.Fail(errUnit)
	}
	some := false
	for _, node := range nodes {
		var live []int
		err := s.ReadRows(ctx, "leave a loop", &live, `UPDATE run_loops SET is_left = true WHERE tenant_id = $1 AND run_id = $2 AND node_id = $3 RETURNING live`,
			string(of.Tenant()), string(of.ID()), string(node))
		if err != nil {
			return s.Fail(err)
		}
		some = some || slices.ContainsFunc(live, func(n int) bool { return n > 0 })
	}
	if !some {
		return nil
	}
	return s.wakeChildren(ctx, []core.KeyRow{{Tenant: string(of.Tenant()), ID: string(of.ID())}})
}

// loopRow is a row of run_loops, and one of [core.Dialect.Rows].
type loopRow struct {
	Tenant      string `db:"tenant_id" json:"tenant_id"`
	Run         string `db:"run_id" json:"run_id"`
	Node        string `db:"node_id" json:"node_id"`
	Count       int    `db:"items" json:"-"`
	ItemRun     string `db:"item_run_id" json:"-"`
	Next        int    `db:"next_item" json:"next_item"`
	Live        int    `db:"live" json:"live"`
	Paused      int    `db:"paused" json:"paused"`
	Concurrency int    `db:"concurrency" json:"-"`
	FailFast    bool   `db:"fail_fast" json:"-"`
	Failed      bool   `db:"failed" json:"failed"`
	Left        bool   `db:"is_left" json:"-"`
	Payload     string `db:"payload_id" json:"-"`
}

const loopColumns = `l.tenant_id, l.run_id, l.node_id, l.items, l.item_run_id, l.next_item, l.live, l.paused, l.concurrency, l.fail_fast, l.failed, l.is_left, l.payload_id`

func (row loopRow) key() outbound.LoopKey {
	return outbound.LoopKey{Tenant: tenant.ID(row.Tenant), Run: run.ID(row.Run), Node: workflow.NodeID(row.Node)}
}

func (row loopRow) loop() run.Loop {
	return run.Loop{
		Node: workflow.NodeID(row.Node), Count: row.Count, Next: row.Next, Live: row.Live, Paused: row.Paused, Concurrency: row.Concurrency,
		FailFast: row.FailFast, Failed: row.Failed, Left: row.Left,
	}
}

var loopKeyColumns = []core.Column{{Name: "tenant_id"}, {Name: "run_id"}, {Name: "node_id"}}

// Move reads the rows of the nodes, finds who is next, and writes all of them together.
func (s loops) Move(ctx context.Context, moves ...outbound.LoopMove) ([]outbound.LoopTurn, error) {
	if len(moves) == 0 {
		return nil, nil
	}
	if !s.InTransaction() || !s.Writes() {
		return nil, s.Fail(errUnit)
	}
	of := make(map[outbound.LoopKey][]outbound.LoopMove)
	var keys []loopRow
	for _, move := range moves {
		if of[move.Loop] == nil {
			keys = append(keys, loopRow{Tenant: string(move.Loop.Tenant), Run: string(move.Loop.Run), Node: string(move.Loop.Node)})
		}
		of[move.Loop] = append(of[move.Loop], move)
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode loops: %w", err))
	}
	var rows []loopRow
	lock := s.store.dialect.ForUpdate
	if lock != "" {
		lock = " FOR UPDATE OF l"
	}
	err = s.ReadRows(ctx, "hold loops", &rows, `SELECT `+loopColumns+` FROM `+s.store.dialect.Rows(1, loopKeyColumns...)+` CROSS JOIN run_loops l
		WHERE l.tenant_id = r.tenant_id AND l.run_id = r.run_id AND l.node_id = r.node_id ORDER BY l.tenant_id, l.run_id, l.node_id`+lock, string(text))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	turns := make([]outbound.LoopTurn, len(rows))
	for i := range rows {
		if turns[i], err = s.turn(ctx, &rows[i], of[rows[i].key()]); err != nil {
			return nil, s.Fail(err)
		}
	}
	if text, err = json.Marshal(rows); err != nil {
		return nil, s.Fail(fmt.Errorf("encode loops: %w", err))
	}
	written := slices.Concat(loopKeyColumns, []core.Column{{Name: "next_item"}, {Name: "live"}, {Name: "paused"}, {Name: "failed"}})
	_, err = s.Exec(ctx, "count items", `UPDATE run_loops AS u SET next_item = CAST(r.next_item AS integer), live = CAST(r.live AS integer), paused = CAST(r.paused AS integer),
		failed = CAST(r.failed AS boolean) FROM `+s.store.dialect.Rows(1, written...)+` WHERE u.tenant_id = r.tenant_id AND u.run_id = r.run_id AND u.node_id = r.node_id`, string(text))
	if err != nil {
		return nil, err
	}
	return turns, s.afterMove(ctx, turns)
}

// turn counts what has moved in a row, and finds who is next.
func (s loops) turn(ctx context.Context, row *loopRow, moves []outbound.LoopMove) (turn outbound.LoopTurn, err error) {
	turn = outbound.LoopTurn{Loop: row.key(), Payload: outbound.PayloadID(row.Payload)}
	before := row.loop()
	l := before
	for _, move := range moves {
		if move.Is != "" {
			l.Move(move.Was, move.Is)
		}
	}
	if room := l.Room(); room > 0 {
		if turn.Items, err = s.next(ctx, row, room); err != nil {
			return turn, err
		}
		l.Live += len(turn.Items)
		if l.Next = l.Count; len(turn.Items) == room {
			l.Next = turn.Items[room-1].Index + 1
		}
	}
	turn.Left = l.Left
	turn.Woke = !l.Left && (l.Over() != before.Over() || l.AllPaused() != before.AllPaused())
	row.Next, row.Live, row.Paused, row.Failed = l.Next, l.Live, l.Paused, l.Failed
	return turn, nil
}

// itemKey names the run of an item; a row of [core.Dialect.Rows].
type itemKey struct {
	Tenant string `json:"tenant_id"`
	Index  int    `json:"idx"`
	Stored int    `json:"stored"` // the place of the row that has the item
	Run    run.ID `json:"id"`
}

// items is the table expression over the items from one on, up to a number of them, and the parameter
// that holds them. Who looks up their runs takes the tenant from there, too: where it is given, and
// has had few runs so far as statistics know, PostgreSQL would read all of them instead.
func (s loops) items(of *loopRow, from, most int) (table, parameter string, err error) {
	keys := make([]itemKey, 0, most)
	for i := from; i < min(from+most, of.Count); i++ {
		keys = append(keys, itemKey{Tenant: of.Tenant, Index: i, Stored: i / itemsPerRow * itemsPerRow, Run: run.ID(of.ItemRun).Item(i)})
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return "", "", s.Fail(fmt.Errorf("encode items: %w", err))
	}
	return s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "idx"}, core.Column{Name: "stored"}, core.Column{Name: "id"}), string(text), nil
}

// maxLook is how many items are looked at in one statement.
const maxLook = 512

// next finds the first items that have not begun, or have ended otherwise than completed. Most often
// the first that it looks at are those.
func (s loops) next(ctx context.Context, of *loopRow, most int) (items []outbound.ItemTurn, err error) {
	look := most
	for from := of.Next; from < of.Count && len(items) < most; from, look = from+look, min(2*look, maxLook) {
		table, parameter, err := s.items(of, from, look)
		if err != nil {
			return nil, err
		}
		var found []struct {
			Index  int     `db:"idx"`
			Run    string  `db:"id"`
			Size   int     `db:"size"`
			Status *string `db:"status"`
		}
		err = s.ReadRows(ctx, "find the next items", &found, `SELECT CAST(r.idx AS integer) AS idx, r.id, octet_length(i.items ->> (CAST(r.idx AS integer) - i.idx)) + coalesce(
				(SELECT octet_length(o.items ->> 0) FROM run_items o WHERE o.tenant_id = i.tenant_id AND o.run_id = i.run_id AND o.node_id = i.node_id AND o.idx = -1), 0) AS size, u.status
			FROM `+table+` CROSS JOIN run_items i
			LEFT JOIN runs u ON u.tenant_id = r.tenant_id AND u.id = r.id
			WHERE i.tenant_id = $2 AND i.run_id = $3 AND i.node_id = $4 AND i.idx = CAST(r.stored AS integer) AND coalesce(u.status, 'failed') IN ('failed', 'cancelled') ORDER BY 1 LIMIT $5`, parameter, of.Tenant, of.Run, of.Node, most-len(items))
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			items = append(items, outbound.ItemTurn{Run: run.ID(row.Run), Index: row.Index, Size: row.Size, Again: row.Status != nil})
		}
	}
	return items, nil
}

// afterMove has those pending that go on, and wakes runs.
func (s loops) afterMove(ctx context.Context, turns []outbound.LoopTurn) error {
	var again, woken []core.KeyRow
	for _, turn := range turns {
		for _, item := range turn.Items {
			if item.Again {
				again = append(again, core.KeyRow{Tenant: string(turn.Loop.Tenant), ID: string(item.Run)})
			}
		}
		if turn.Woke {
			woken = append(woken, core.KeyRow{Tenant: string(turn.Loop.Tenant), ID: string(turn.Loop.Run)})
		}
	}
	if err := s.reviveItems(ctx, again); err != nil {
		return err
	}
	return s.wakeAll(ctx, "wake runs of loops", `%s`, slices.Compact(woken))
}

func (s loops) reviveItems(ctx context.Context, items []core.KeyRow) error {
	if len(items) == 0 {
		return nil
	}
	slices.SortFunc(items, func(a, b core.KeyRow) int { return cmp.Compare(a.ID, b.ID) })
	table, parameter, err := s.store.dialect.Keys(items)
	if err != nil {
		return s.Fail(err)
	}
	clock := s.store.dialect.Clock
	_, err = s.Exec(ctx, "have items pending", `UPDATE runs AS u SET status = 'pending', finished_at = NULL, failure_code = NULL, failure_message = NULL, failure_node = NULL,
		wake_at = NULL, updated_at = `+clock+` FROM `+table+` WHERE u.tenant_id = r.tenant_id AND u.id = r.id`, parameter)
	if err != nil {
		return err
	}
	if err := s.noteItems(ctx, items); err != nil {
		return err
	}
	n, err := s.Exec(ctx, "queue items", `INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at, ready_at, lane, lane_limit, engine, needs_level)
		SELECT runs.tenant_id, runs.id, trigger_id, workflow_id, seq, `+wholeSize+`, k.now, k.now, lane, lane_limit, engine, `+levelOf("runs", levelToGoOn("runs"))+`
		FROM `+table+` CROSS JOIN runs CROSS JOIN (SELECT `+clock+` AS now) AS k WHERE runs.tenant_id = r.tenant_id AND runs.id = r.id`, parameter)
	s.store.liveRunsChanged(int(n))
	return err
}

// Start adds the runs in one statement.
func (s loops) Start(ctx context.Context, payload outbound.PayloadID, items ...outbound.ItemStart) error {
	all, sizes := make([]*run.Run, len(items)), make([]int, len(items))
	for i, item := range items {
		all[i], sizes[i] = item.Run, item.Size
	}
	_, err := s.start(ctx, payload, all, sizes...)
	return err
}

// Of reads one row for each node.
func (s loops) Of(ctx context.Context, owner tenant.ID, of run.ID) ([]run.Loop, error) {
	var rows []loopRow
	err := s.ReadRows(ctx, "read loops", &rows, `SELECT `+loopColumns+` FROM run_loops l WHERE l.tenant_id = $1 AND l.run_id = $2 ORDER BY l.node_id`, string(owner), string(of))
	all := make([]run.Loop, len(rows))
	for i, row := range rows {
		all[i] = row.loop()
	}
	return all, err
}
