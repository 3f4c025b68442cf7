package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type auditSealing struct{ *unit }

var _ outbound.AuditSealing = auditSealing{}

type auditChain struct{ *unit }

var _ outbound.AuditChain = auditChain{}

const headColumns = `tenant_id, seq, hash, pruned_seq, pruned_hash, pruned_at`

type headRow struct {
	Tenant     string     `db:"tenant_id"`
	Seq        int64      `db:"seq"`
	Hash       []byte     `db:"hash"`
	PrunedSeq  int64      `db:"pruned_seq"`
	PrunedHash []byte     `db:"pruned_hash"`
	PrunedAt   *time.Time `db:"pruned_at"`
}

func (row headRow) restore() audit.Head {
	h := audit.Head{Tenant: tenant.ID(row.Tenant), Sequence: row.Seq, Pruned: audit.Anchor{Sequence: row.PrunedSeq}}
	copy(h.Hash[:], row.Hash)
	copy(h.Pruned.Hash[:], row.PrunedHash)
	if row.PrunedAt != nil {
		h.Pruned.At = row.PrunedAt.UTC()
	}
	return h
}

// logsIn is a query for whose entries are in a table, beginning behind one: it goes from one log to the next in an index, not through all entries.
func logsIn(table, behind string) string {
	return `WITH RECURSIVE logs (id) AS (
			SELECT min(tenant_id) FROM ` + table + behind + `
			UNION ALL SELECT (SELECT min(l.tenant_id) FROM ` + table + ` l WHERE l.tenant_id > logs.id) FROM logs WHERE logs.id IS NOT NULL
		) `
}

// Unsealed reads whose entries wait.
func (s auditSealing) Unsealed(ctx context.Context, limit int) ([]outbound.AuditBacklog, error) {
	var rows []struct {
		Tenant string       `db:"tenant_id"`
		Since  core.Instant `db:"since"`
	}
	err := s.ReadRows(ctx, "look for entries to seal", &rows, logsIn("audit_waiting", "")+`SELECT tenant_id, since FROM (
			SELECT logs.id AS tenant_id, (SELECT min(e.at) FROM audit_waiting e WHERE e.tenant_id = logs.id) AS since FROM logs WHERE logs.id IS NOT NULL
		) AS waiting WHERE since IS NOT NULL ORDER BY since, tenant_id LIMIT $1`, limit)
	all := make([]outbound.AuditBacklog, len(rows))
	for i, row := range rows {
		all[i] = outbound.AuditBacklog{Tenant: tenant.ID(row.Tenant), Since: row.Since.UTC()}
	}
	return all, err
}

// Hold makes the head if there is none and entries wait, and claims it.
func (s auditSealing) Hold(ctx context.Context, owner tenant.ID) (head audit.Head, ok bool, err error) {
	if head, ok, err = s.claim(ctx, owner); ok || err != nil {
		return head, ok, err
	}
	var none audit.Hash
	n, err := s.Exec(ctx, "begin a chain", `INSERT INTO audit_heads (tenant_id, seq, hash, pruned_seq, pruned_hash)
		SELECT e.tenant_id, 0, $2, 0, $2 FROM audit_waiting e WHERE e.tenant_id = $1 LIMIT 1 ON CONFLICT (tenant_id) DO NOTHING`, string(owner), none[:])
	if err != nil || n == 0 {
		return head, false, err
	}
	return s.claim(ctx, owner)
}

// claim claims the head, if there is one that no other unit has.
func (s auditSealing) claim(ctx context.Context, owner tenant.ID) (head audit.Head, ok bool, err error) {
	var rows []headRow
	err = s.ReadRows(ctx, "hold the head of a chain", &rows, `SELECT `+headColumns+` FROM audit_heads WHERE tenant_id = $1`+s.store.dialect.ClaimRows, string(owner))
	if err != nil || len(rows) == 0 {
		return head, false, err
	}
	return rows[0].restore(), true, nil
}

// waitingRow is what the chain needs of an entry that waits. One that an earlier development version left has no digest,
// and so its content is read.
type waitingRow struct {
	auditRow
	Digest []byte `db:"digest"`
}

// Next reads entries that wait. Values that are being erased are waited for, in that their entries are left out.
func (s auditSealing) Next(ctx context.Context, owner tenant.ID, limit int) ([]audit.Link, error) {
	var rows []waitingRow
	err := s.ReadRows(ctx, "read entries to seal", &rows, `SELECT `+actColumns+`, CASE WHEN digest IS NULL THEN said ELSE '' END AS said, digest
		FROM audit_waiting WHERE tenant_id = $1 ORDER BY at, id LIMIT $2`+s.store.dialect.ClaimRows, string(owner), limit)
	if err != nil {
		return nil, err
	}
	next := make([]audit.Link, len(rows))
	for i, row := range rows {
		next[i] = audit.Link{ID: audit.ID(row.ID), At: row.At.UTC()}
		if row.Digest == nil {
			next[i].Digest = row.restore().Digest()
		}
		copy(next[i].Digest[:], row.Digest)
	}
	return next, nil
}

// sealedRow is a row of [core.Dialect.Rows].
type sealedRow struct {
	At   string `json:"at"`
	ID   string `json:"id"`
	Seq  string `json:"seq"`
	Hash string `json:"hash"`
}

var errSealedMeanwhile = errors.New("entries of the audit log were sealed or deleted meanwhile")

// Seal moves entries to those that have a place and a hash. Nobody else changes them meanwhile: Next has claimed them.
func (s auditSealing) Seal(ctx context.Context, head audit.Head, links []audit.Link) error {
	rows := make([]sealedRow, len(links))
	for i, l := range links {
		rows[i] = sealedRow{l.At.UTC().Format(core.TimeFormat), string(l.ID), strconv.FormatInt(l.Sequence, 10), `\x` + l.Hash.String()}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode places in a chain: %w", err))
	}
	given := s.store.dialect.Rows(1, core.Column{Name: "at", Time: true}, core.Column{Name: "id"}, core.Column{Name: "seq"}, core.Column{Name: "hash", Bytes: true})
	n, err := s.Exec(ctx, "seal entries", `INSERT INTO audit_entries (`+auditColumns+`)
		SELECT w.tenant_id, w.id, w.at, w.actor_kind, w.actor_id, w.action, w.target_kind, w.target_id, w.request_id, w.said, CAST(r.seq AS bigint), r.hash
		FROM `+given+` JOIN audit_waiting w ON w.at = r.at AND w.id = r.id WHERE w.tenant_id = $2`, string(text), string(head.Tenant))
	if err != nil {
		return err
	}
	if int(n) < len(links) {
		return s.Fail(&core.Collision{Cause: errSealedMeanwhile})
	}
	if _, err := s.Exec(ctx, "remove what was sealed from what waits", `DELETE FROM audit_waiting WHERE tenant_id = $2 AND (at, id) IN (SELECT r.at, r.id FROM `+given+`)`, string(text), string(head.Tenant)); err != nil {
		return err
	}
	if s.store.EntriesSealed != nil {
		s.store.EntriesSealed(len(links))
	}
	return auditChain(s).keep(ctx, head)
}

// keep writes a head.
func (s auditChain) keep(ctx context.Context, h audit.Head) error {
	var prunedAt *time.Time
	if h.Pruned.Sequence > 0 {
		prunedAt = &h.Pruned.At
	}
	_, err := s.Exec(ctx, "keep the head of a chain", `UPDATE audit_heads SET seq = $1, hash = $2, pruned_seq = $3, pruned_hash = $4, pruned_at = $5 WHERE tenant_id = $6`,
		h.Sequence, h.Hash[:], h.Pruned.Sequence, h.Pruned.Hash[:], prunedAt, string(h.Tenant))
	return err
}

// Head reads the head of a chain.
func (s auditChain) Head(ctx context.Context, owner tenant.ID) (audit.Head, error) {
	var row headRow
	err := s.ReadRow(ctx, "read the head of a chain", &row, `SELECT `+headColumns+` FROM audit_heads WHERE tenant_id = $1`, string(owner))
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Head{Tenant: owner}, nil
	}
	return row.restore(), err
}

// Heads reads heads of chains. One that has entries and no head any more is among them.
func (s auditChain) Heads(ctx context.Context, behind *tenant.ID, limit int) ([]audit.Head, error) {
	first, condition, args := ``, ``, []any{limit}
	if behind != nil {
		first, condition, args = ` WHERE tenant_id > $2`, ` WHERE c.tenant_id > $2`, append(args, string(*behind))
	}
	var rows []headRow
	err := s.ReadRows(ctx, "read heads of chains", &rows, logsIn("audit_entries", first)+`SELECT c.tenant_id, coalesce(h.seq, 0) AS seq, h.hash, coalesce(h.pruned_seq, 0) AS pruned_seq, h.pruned_hash, h.pruned_at
		FROM (SELECT tenant_id FROM audit_heads UNION SELECT id FROM logs WHERE id IS NOT NULL) c
		LEFT JOIN audit_heads h ON h.tenant_id = c.tenant_id`+condition+` ORDER BY c.tenant_id LIMIT $1`, args...)
	all := make([]audit.Head, len(rows))
	for i, row := range rows {
		all[i] = row.restore()
	}
	return all, err
}

// Sealed reads a part of a chain.
func (s auditChain) Sealed(ctx context.Context, owner tenant.ID, behind int64, limit int) ([]audit.Entry, error) {
	return auditLog(s).entries(ctx, auditColumns+` FROM audit_entries WHERE tenant_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, string(owner), behind, limit)
}

// Aged reads whose entries are old. Of each log it looks at the oldest one.
func (s auditChain) Aged(ctx context.Context, before time.Time, behind *tenant.ID, limit int) ([]tenant.ID, error) {
	condition, args := ``, []any{before.UTC(), limit}
	if behind != nil {
		condition, args = ` AND h.tenant_id > $3`, append(args, string(*behind))
	}
	var ids []tenant.ID
	err := s.ReadRows(ctx, "look for old entries", &ids, `SELECT h.tenant_id FROM audit_heads h
		WHERE (SELECT e.at FROM audit_entries e WHERE e.tenant_id = h.tenant_id AND e.seq > h.pruned_seq ORDER BY e.seq LIMIT 1) < $1`+condition+` ORDER BY h.tenant_id LIMIT $2`, args...)
	return ids, err
}

// pruneChain begins where the anchor was: what was removed before is still in an index of PostgreSQL until that is
// vacuumed, and would be passed over each time.
const pruneChain = `DELETE FROM audit_entries WHERE tenant_id = $1 AND seq > $2 AND seq <= $3`

// Prune removes a part of the beginning of a chain.
func (s auditChain) Prune(ctx context.Context, behind int64, head audit.Head) error {
	if _, err := s.Exec(ctx, "prune a chain", pruneChain, string(head.Tenant), behind, head.Pruned.Sequence); err != nil {
		return err
	}
	return s.keep(ctx, head)
}

// Sweep removes what is left of tenants that are gone. Whose logs there are it finds by going from one to the next in
// the index, not through all entries.
func (s auditChain) Sweep(ctx context.Context) (removed int, err error) {
	for _, table := range []string{"audit_heads", "audit_waiting", "audit_entries"} {
		n, err := s.ExecSlow(ctx, "sweep the audit log", logsIn(table, ` WHERE tenant_id > ''`)+`DELETE FROM `+table+` WHERE tenant_id IN (SELECT logs.id FROM logs WHERE logs.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = logs.id))`)
		if err != nil {
			return 0, err
		}
		removed += int(n)
	}
	return removed, nil
}
