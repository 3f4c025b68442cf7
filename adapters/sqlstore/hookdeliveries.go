package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

type hookDeliveries struct{ *unit }

var _ outbound.HookDeliveries = hookDeliveries{}

const receivedColumns = `tenant_id, trigger_id, id, received_at, verdict, code, runs, items, replay_of, size`

type receivedRow struct {
	Tenant   string    `db:"tenant_id"`
	Trigger  string    `db:"trigger_id"`
	ID       string    `db:"id"`
	At       time.Time `db:"received_at"`
	Verdict  string    `db:"verdict"`
	Code     string    `db:"code"`
	Runs     string    `db:"runs"`
	Items    int       `db:"items"`
	ReplayOf string    `db:"replay_of"`
	Bytes    int64     `db:"size"`
}

// Targets are where the columns of a list go.
func (row *receivedRow) Targets() []any {
	return []any{&row.Tenant, &row.Trigger, &row.ID, &row.At, &row.Verdict, &row.Code, &row.Runs, &row.Items, &row.ReplayOf, &row.Bytes}
}

// Size is the length of its texts.
func (row *receivedRow) Size() int { return len(row.Runs) }

// SizeSQL is the same, of the columns.
func (*receivedRow) SizeSQL() string { return `octet_length(runs)` }

func (row receivedRow) restore() (*hook.Received, error) {
	d := &hook.Received{
		ID: hook.DeliveryID(row.ID), Tenant: tenant.ID(row.Tenant), Trigger: trigger.ID(row.Trigger), At: row.At.UTC(), Verdict: hook.Verdict(row.Verdict), Code: row.Code,
		Items: row.Items, ReplayOf: hook.DeliveryID(row.ReplayOf), Size: row.Bytes,
	}
	for id := range strings.FieldsSeq(row.Runs) {
		d.Runs = append(d.Runs, run.ID(id))
	}
	return d, nil
}

// textOfRuns is how runs are kept: separated by spaces, so that others can be added behind them.
func textOfRuns(all []run.ID) string {
	texts := make([]string, len(all))
	for i, id := range all {
		texts[i] = string(id)
	}
	return strings.Join(texts, " ")
}

// sealedDelivery is what is encrypted, on one line before the bytes of the body.
type sealedDelivery struct {
	Method  string       `json:"method"`
	Origin  string       `json:"origin,omitempty"`
	Address string       `json:"address,omitempty"`
	Path    string       `json:"path,omitempty"`
	Query   string       `json:"query,omitempty"`
	Headers hook.Headers `json:"headers"`
	At      time.Time    `json:"at"`
	Client  string       `json:"client,omitempty"`
}

func sealedField(d *hook.Received) outbound.SecretField {
	return outbound.SecretField{Tenant: d.Tenant, Record: string(d.ID), Field: "sealed"}
}

func (s hookDeliveries) seal(ctx context.Context, d *hook.Received) (string, error) {
	q := d.Request
	head, err := json.Marshal(sealedDelivery{Method: q.Method, Origin: q.Origin, Address: q.Address, Path: q.Path, Query: q.Query, Headers: q.Headers, At: q.At, Client: d.Client})
	if err != nil {
		return "", s.Fail(fmt.Errorf("encode delivery %s: %w", d.ID, err))
	}
	return s.SealText(ctx, slices.Concat(head, []byte("\n"), q.Body), sealedField(d))
}

func (s hookDeliveries) open(ctx context.Context, d *hook.Received, sealed string) error {
	plain, err := s.OpenText(ctx, sealed, sealedField(d))
	if err != nil {
		return err
	}
	head, body, _ := strings.Cut(plain, "\n")
	var kept sealedDelivery
	if err := json.Unmarshal([]byte(head), &kept); err != nil {
		return fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	d.Client = kept.Client
	d.Request = hook.Request{
		Method: kept.Method, Origin: kept.Origin, Address: kept.Address, Path: kept.Path, Query: kept.Query, Headers: kept.Headers, Body: []byte(body), At: kept.At.UTC(),
	}
	return nil
}

// newReceivedRow is a row of [core.Dialect.Rows].
type newReceivedRow struct {
	Tenant   string `json:"tenant_id"`
	Trigger  string `json:"trigger_id"`
	ID       string `json:"id"`
	At       string `json:"received_at"`
	Verdict  string `json:"verdict"`
	Code     string `json:"code"`
	Refused  bool   `json:"refused"`
	Runs     string `json:"runs"`
	Items    int    `json:"items"`
	ReplayOf string `json:"replay_of"`
	Size     int    `json:"size"`
	Sealed   string `json:"sealed"`
}

// largeDelivery is from how many bytes on what is sealed goes by itself: within JSON it would be read and written several times.
const largeDelivery = 64 << 10

// Add adds deliveries, small ones all in one statement, and removes the oldest where there are too many.
func (s hookDeliveries) Add(ctx context.Context, all ...*hook.Received) error {
	if err := s.FirstFailure(); err != nil || len(all) == 0 {
		return err
	}
	rows, large := make([]newReceivedRow, len(all)), make(map[int]string)
	for i, d := range all {
		sealed, err := s.seal(ctx, d)
		if err != nil {
			return err
		}
		d.Size = int64(len(sealed))
		rows[i] = newReceivedRow{
			Tenant: string(d.Tenant), Trigger: string(d.Trigger), ID: string(d.ID), At: d.At.UTC().Format(core.TimeFormat), Verdict: string(d.Verdict), Code: d.Code,
			Refused: d.Verdict == hook.RefusedSender, Runs: textOfRuns(d.Runs), Items: d.Items, ReplayOf: string(d.ReplayOf), Size: len(sealed),
		}
		if len(sealed) < largeDelivery {
			rows[i].Sealed = sealed
		} else {
			large[i] = sealed
		}
	}
	if err := s.insert(ctx, rows); err != nil {
		return err
	}
	s.count(all)
	for i, sealed := range large {
		if _, err := s.Exec(ctx, "keep a large delivery", `UPDATE hook_deliveries SET sealed = $1 WHERE tenant_id = $2 AND trigger_id = $3 AND id = $4`, sealed, rows[i].Tenant, rows[i].Trigger, rows[i].ID); err != nil {
			return err
		}
	}
	return s.trim(ctx, all)
}

// count counts deliveries that came from outside.
func (s hookDeliveries) count(all []*hook.Received) {
	for _, d := range all {
		s.CountUsage(d.Tenant, usage.DayOf(d.At), usageOfReceived(d.Verdict, string(d.ReplayOf)))
	}
}

// usageOfReceived is what a delivery to a hook counts for; one that repeats another for nothing.
func usageOfReceived(v hook.Verdict, replayOf string) usage.Counts {
	switch {
	case replayOf != "":
		return usage.Counts{}
	case v == hook.RefusedSender:
		return usage.Counts{HooksRefused: 1}
	default:
		return usage.Counts{HooksAccepted: 1}
	}
}

func (s hookDeliveries) insert(ctx context.Context, rows []newReceivedRow) error {
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode deliveries: %w", err))
	}
	table := s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "trigger_id"}, core.Column{Name: "id"}, core.Column{Name: "received_at", Time: true}, core.Column{Name: "verdict"},
		core.Column{Name: "code"}, core.Column{Name: "refused"}, core.Column{Name: "runs"}, core.Column{Name: "items"}, core.Column{Name: "replay_of"}, core.Column{Name: "size"}, core.Column{Name: "sealed"})
	n, err := s.Exec(ctx, "add deliveries to hooks", `INSERT INTO hook_deliveries (tenant_id, trigger_id, id, received_at, verdict, code, refused, runs, items, replay_of, size, sealed)
		SELECT r.tenant_id, r.trigger_id, r.id, r.received_at, r.verdict, r.code, CAST(r.refused AS boolean), r.runs, CAST(r.items AS integer), r.replay_of, CAST(r.size AS bigint), r.sealed
		FROM `+table+` WHERE EXISTS (SELECT 1 FROM hooks h WHERE h.tenant_id = r.tenant_id AND h.trigger_id = r.trigger_id)`, string(text))
	if err != nil {
		return err
	}
	if int(n) < len(rows) {
		return s.Fail(domain.Fail(domain.NotFound, hookNotFound, "The hook was deleted meanwhile."))
	}
	return nil
}

// deliveryBounds are of the deliveries of a hook.
type deliveryBounds struct{ number, bytes int64 }

func (b deliveryBounds) minus(of deliveryBounds) deliveryBounds {
	return deliveryBounds{b.number - of.number, b.bytes - of.bytes}
}

// Upper bounds, and lower ones, so that not every delivery removes another one.
var (
	mostKept, fewerKept       = deliveryBounds{hook.MaxKept, hook.MaxKeptBytes}, deliveryBounds{hook.MaxKept - hook.MaxKept/50, hook.MaxKeptBytes - hook.MaxKeptBytes/50}
	mostRefused, fewerRefused = deliveryBounds{number: hook.MaxRefused}, deliveryBounds{number: hook.MaxRefused - hook.MaxRefused/10}
)

// trim removes the oldest deliveries of hooks that have too many.
func (s hookDeliveries) trim(ctx context.Context, added []*hook.Received) error {
	var keys []core.KeyRow
	seen := make(map[core.KeyRow]bool)
	for _, d := range added {
		if key := (core.KeyRow{Tenant: string(d.Tenant), ID: string(d.Trigger)}); !seen[key] {
			seen[key], keys = true, append(keys, key)
		}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return s.Fail(err)
	}
	var over []struct {
		core.KeyRow
		Kept    int64 `db:"kept"`
		Bytes   int64 `db:"bytes"`
		Refused int64 `db:"refused"`
	}
	err = s.ReadRows(ctx, "find hooks with too many deliveries", &over, fmt.Sprintf(`SELECT u.tenant_id, u.trigger_id AS id, u.kept, u.bytes, u.refused FROM %s
		JOIN hook_usage u ON u.tenant_id = r.tenant_id AND u.trigger_id = r.id WHERE u.kept > %d OR u.bytes > %d OR u.refused > %d ORDER BY u.tenant_id, u.trigger_id`,
		table, hook.MaxKept, hook.MaxKeptBytes, hook.MaxRefused), parameter)
	if err != nil {
		return s.Fail(err)
	}
	for _, h := range over {
		if h.Kept > hook.MaxKept || h.Bytes > hook.MaxKeptBytes {
			has := deliveryBounds{h.Kept, h.Bytes}
			if err := s.removeOldest(ctx, h.KeyRow, false, has.minus(mostKept), has.minus(fewerKept)); err != nil {
				return err
			}
		}
		if h.Refused > hook.MaxRefused {
			has := deliveryBounds{number: h.Refused}
			if err := s.removeOldest(ctx, h.KeyRow, true, has.minus(mostRefused), has.minus(fewerRefused)); err != nil {
				return err
			}
		}
	}
	return nil
}

// What goes at once of what is between two bounds, so that no unit writes for long, and how many of the oldest are looked at
// for their size.
const (
	removedAtOnce = 1 << 20
	lookedAt      = 2000
)

// removeOldest removes the oldest deliveries of a hook, of one sort: what it has above the upper bounds, and of what it has above
// the lower ones so much as may go at once. What goes is found as one id: a list of them would be searched for each row while the database knows
// nothing of a new table.
func (s hookDeliveries) removeOldest(ctx context.Context, of core.KeyRow, refused bool, aboveUpper, aboveLower deliveryBounds) error {
	limit := aboveLower.number
	if aboveLower.bytes > 0 {
		limit = max(limit, lookedAt)
	}
	_, err := s.Exec(ctx, "remove the oldest deliveries", `DELETE FROM hook_deliveries WHERE tenant_id = $1 AND trigger_id = $2 AND refused = $3 AND id <= (
			SELECT max(d.id) FROM (SELECT o.id, o.size, row_number() OVER (ORDER BY o.id) AS place, sum(o.size) OVER (ORDER BY o.id) AS total FROM (
				SELECT id, size FROM hook_deliveries WHERE tenant_id = $1 AND trigger_id = $2 AND refused = $3 ORDER BY id LIMIT $4) o) d
			WHERE d.place <= $5 OR d.total - d.size < $6 OR d.total <= $7 AND (d.place <= $8 OR d.total - d.size < $9))`,
		of.Tenant, of.ID, refused, limit, aboveUpper.number, aboveUpper.bytes, removedAtOnce, aboveLower.number, aboveLower.bytes)
	return err
}

// AddRuns adds runs behind those that are there.
func (s hookDeliveries) AddRuns(ctx context.Context, of *hook.Received, started ...run.ID) error {
	_, err := s.Exec(ctx, "note runs of a delivery", `UPDATE hook_deliveries SET verdict = $4, code = $5,
			runs = CASE WHEN CAST($6 AS text) = '' THEN runs WHEN runs = '' THEN CAST($6 AS text) ELSE runs || ' ' || CAST($6 AS text) END
		WHERE tenant_id = $1 AND trigger_id = $2 AND id = $3`, string(of.Tenant), string(of.Trigger), string(of.ID), string(of.Verdict), of.Code, textOfRuns(started))
	return err
}

// Get reads a delivery whole.
func (s hookDeliveries) Get(ctx context.Context, scope tenant.Scope, of trigger.ID, id hook.DeliveryID) (*hook.Received, error) {
	in, args := core.Within(scope, ofTrigger("hook_deliveries"), string(of), string(id))
	var row struct {
		receivedRow
		Sealed string `db:"sealed"`
	}
	err := s.ReadRow(ctx, "get delivery to a hook", &row, `SELECT `+receivedColumns+`, sealed FROM hook_deliveries WHERE tenant_id = $1 AND trigger_id = $2 AND id = $3`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, "hook_delivery_not_found", "The hook has no such delivery, or does not keep it any more.")
	}
	d, err := row.restore()
	if err != nil {
		return nil, err
	}
	return d, s.open(ctx, d, row.Sealed)
}

var receivedSorted = map[string]string{"receivedAt": "received_at", domain.DefaultSortField: "received_at"}

// List reads a page, without what was received.
func (s hookDeliveries) List(ctx context.Context, scope tenant.Scope, of trigger.ID, f hook.ReceivedFilter, q domain.Query) (domain.Page[*hook.Received], error) {
	l := core.NewList("hook_deliveries", receivedColumns, scope, ofTrigger("hook_deliveries"), receivedSorted)
	l.Equal("trigger_id", string(of))
	if f.Verdict != "" {
		l.Equal("verdict", string(f.Verdict))
	}
	if f.From != nil {
		l.Where = append(l.Where, "received_at >= "+l.Arg(f.From.UTC()))
	}
	if f.To != nil {
		l.Where = append(l.Where, "received_at < "+l.Arg(f.To.UTC()))
	}
	return core.ReadPage(ctx, s.Unit, l, q, receivedRow.restore)
}

// Sweep removes old deliveries of a tenant.
func (s hookDeliveries) Sweep(ctx context.Context, owner tenant.ID, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep deliveries to hooks", `DELETE FROM hook_deliveries WHERE (tenant_id, trigger_id, id) IN (
			SELECT tenant_id, trigger_id, id FROM hook_deliveries WHERE tenant_id = $1 AND received_at < $2 ORDER BY received_at LIMIT $3)`, string(owner), before, limit)
	return int(n), err
}
