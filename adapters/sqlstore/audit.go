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
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type auditLog struct{ *unit }

var _ outbound.AuditLog = auditLog{}

const (
	actColumns   = `tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id`
	saidColumns  = actColumns + `, said`
	auditColumns = saidColumns + `, seq, hash`
)

type auditRow struct {
	Tenant     string    `db:"tenant_id"`
	ID         string    `db:"id"`
	At         time.Time `db:"at"`
	ActorKind  string    `db:"actor_kind"`
	ActorID    string    `db:"actor_id"`
	Action     string    `db:"action"`
	TargetKind string    `db:"target_kind"`
	TargetID   string    `db:"target_id"`
	RequestID  string    `db:"request_id"`
	Said       string    `db:"said"`
	Seq        *int64    `db:"seq"`
	Hash       []byte    `db:"hash"`
}

// Targets are where the columns of a list go.
func (row *auditRow) Targets() []any {
	return []any{
		&row.Tenant, &row.ID, &row.At, &row.ActorKind, &row.ActorID, &row.Action, &row.TargetKind, &row.TargetID, &row.RequestID, &row.Said, &row.Seq, &row.Hash,
	}
}

// Size is the length of its texts.
func (row *auditRow) Size() int { return len(row.Said) }

// SizeSQL is the same, of the columns.
func (*auditRow) SizeSQL() string { return `octet_length(said)` }

// restore makes the entry. Of one whose values cannot be read there is one that says so, and which verification finds:
// who can write to the table must not be able to stop what reads the log.
func (row auditRow) restore() audit.Entry {
	e := audit.Entry{
		ID: audit.ID(row.ID), Tenant: tenant.ID(row.Tenant), At: row.At.UTC(), ActorKind: audit.ActorKind(row.ActorKind), ActorID: row.ActorID, Action: row.Action,
		Target: audit.Target{Kind: row.TargetKind, ID: row.TargetID}, RequestID: row.RequestID,
	}
	if row.Seq != nil {
		e.Sequence = *row.Seq
		copy(e.Hash[:], row.Hash) // one of another length was altered, and so it is found
	}
	if !readSaid(row.Said, &e) {
		e.Salt, e.Values = "", []audit.Value{audit.Unreadable(row.Said)}
	}
	return e
}

// saidOnce is how values are stored that have the salt of their entry.
type saidOnce struct {
	Salt   string      `json:"salt"`
	Values [][3]string `json:"values"` // name, old value, new value
}

// saidEach is how values are stored of which one was erased: name, old value, new value, salt, hash.
type saidEach [][5]string

// readSaid reads the values of an entry, and says whether it can.
func readSaid(text string, e *audit.Entry) bool {
	if strings.HasPrefix(text, "{") {
		var said saidOnce
		if json.Unmarshal([]byte(text), &said) != nil || said.Salt == "" {
			return false
		}
		e.Salt, e.Values = said.Salt, make([]audit.Value, len(said.Values))
		for i, v := range said.Values {
			e.Values[i] = audit.Value{Name: v[0], Old: v[1], New: v[2]}
		}
	} else {
		var said saidEach
		if json.Unmarshal([]byte(text), &said) != nil {
			return false
		}
		for _, v := range said {
			hash, _ := audit.ParseHash(v[4]) // one that is none was altered
			e.Values = append(e.Values, audit.Value{Name: v[0], Old: v[1], New: v[2], Salt: v[3], Hash: hash})
		}
	}
	return !slices.ContainsFunc(e.Values, func(v audit.Value) bool { return !isJSON(v.Old) || !isJSON(v.New) })
}

// isJSON says whether a text is a value, or none.
func isJSON(text string) bool { return text == "" || json.Valid([]byte(text)) }

func encodeSaid(e *audit.Entry) (string, error) {
	var said any
	if e.Salt != "" {
		once := saidOnce{e.Salt, make([][3]string, len(e.Values))}
		for i, v := range e.Values {
			once.Values[i] = [3]string{v.Name, v.Old, v.New}
		}
		said = once
	} else {
		each := make(saidEach, len(e.Values))
		for i, v := range e.Values {
			each[i] = [5]string{v.Name, v.Old, v.New, v.Salt, v.Hash.String()}
		}
		said = each
	}
	text, err := json.Marshal(said)
	if err != nil {
		return "", fmt.Errorf("encode audit entry: %w", err)
	}
	return string(text), nil
}

// appendedRow is a row of [core.Dialect.Rows].
type appendedRow struct {
	Tenant     string `json:"tenant_id"`
	ID         string `json:"id"`
	At         string `json:"at"`
	ActorKind  string `json:"actor_kind"`
	ActorID    string `json:"actor_id"`
	Action     string `json:"action"`
	TargetKind string `json:"target_kind"`
	TargetID   string `json:"target_id"`
	RequestID  string `json:"request_id"`
	Said       string `json:"said"`
	Digest     string `json:"digest"`
}

// Append adds entries.
func (s auditLog) Append(ctx context.Context, entries ...audit.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows := make([]appendedRow, len(entries))
	for i, e := range entries {
		said, err := encodeSaid(&e)
		if err != nil {
			return s.Fail(err)
		}
		rows[i] = appendedRow{
			string(e.Tenant), string(e.ID), e.At.UTC().Format(core.TimeFormat), string(e.ActorKind), e.ActorID, e.Action, e.Target.Kind, e.Target.ID, e.RequestID, said, `\x` + e.Digest().String(),
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode audit entries: %w", err))
	}
	var defined []core.Column
	const columns = saidColumns + `, digest`
	for name := range strings.SplitSeq(columns, ", ") {
		defined = append(defined, core.Column{Name: name, Time: name == "at", Bytes: name == "digest"})
	}
	s.NoteAudited()
	_, err = s.Exec(ctx, "append to the audit log", `INSERT INTO audit_waiting (`+columns+`) SELECT `+columns+` FROM `+s.store.dialect.Rows(1, defined...), string(text))
	return err
}

// Erase writes what is left of the values. It looks in audit_waiting first: an entry that is sealed meanwhile is then in
// audit_entries.
func (s auditLog) Erase(ctx context.Context, e audit.Entry) error {
	said, err := encodeSaid(&e)
	if err != nil {
		return s.Fail(err)
	}
	for _, table := range []string{"audit_waiting", "audit_entries"} {
		n, err := s.Exec(ctx, "erase values in the audit log", `UPDATE `+table+` SET said = $1 WHERE tenant_id = $2 AND at = $3 AND id = $4`, said, string(e.Tenant), e.At.UTC(), string(e.ID))
		if err != nil || n > 0 {
			return err
		}
	}
	return nil
}

// auditSorted holds the only order there is, which is also the one by default.
var auditSorted = map[string]string{"at": "at", domain.DefaultSortField: "at"}

func auditList(owner tenant.ID, f audit.Filter) *core.List {
	l := core.NewList("audit_log", auditColumns, tenant.All(owner), core.ScopeCondition{}, auditSorted)
	for _, one := range []struct{ column, value string }{{"actor_id", f.Actor}, {"action", f.Action}, {"target_id", f.Target}} {
		if one.value != "" {
			l.Equal(one.column, one.value)
		}
	}
	if f.From != nil {
		l.Where = append(l.Where, "at >= "+l.Arg(f.From.UTC()))
	}
	if f.To != nil {
		l.Where = append(l.Where, "at < "+l.Arg(f.To.UTC()))
	}
	return l
}

// List reads a page of a tenant's entries. Each single filter is answered by an index that has the order. The number of all
// that fit costs as much as there are, in the index alone; that of a whole log is known from its chain, except for what waits
// to be sealed.
func (s auditLog) List(ctx context.Context, owner tenant.ID, f audit.Filter, q domain.Query) (domain.Page[audit.Entry], error) {
	l := auditList(owner, f)
	page, count, err := auditPage(l, q)
	if err != nil {
		return domain.Page[audit.Entry]{}, err
	}
	return core.ReadPageBy(ctx, s.Unit, l, q, page, count, func(row auditRow) (audit.Entry, error) { return row.restore(), nil })
}

// auditPage is what reads a page, and what counts all that fit; see [core.ReadPageBy].
func auditPage(l *core.List, q domain.Query) (page, count string, err error) {
	order, err := l.Order(q)
	if err != nil {
		return "", "", err
	}
	waiting := `(SELECT count(*) FROM audit_waiting WHERE tenant_id = $1`
	count = `SELECT coalesce((SELECT seq - pruned_seq FROM audit_heads WHERE tenant_id = $1), 0) + ` + waiting + `)`
	where := ` WHERE tenant_id = $1`
	if len(l.Where) > 0 {
		filter := ` AND ` + strings.Join(l.Where, " AND ")
		where += filter
		count = `SELECT (SELECT count(*) FROM audit_entries` + where + `) + ` + waiting + filter + `)`
	}
	from := ` FROM audit_log` + where
	return `SELECT ` + l.Columns + `, (` + count + `) AS total, '' AS stamp` + from + order + l.Limit(q), count, nil
}

// After reads entries behind a place.
func (s auditLog) After(ctx context.Context, owner tenant.ID, f audit.Filter, place outbound.AuditPlace, limit int) ([]audit.Entry, error) {
	l := auditList(owner, f)
	if place.ID != "" {
		l.Where = append(l.Where, "(at, id) > ("+l.Arg(place.At.UTC())+", "+l.Arg(string(place.ID))+")")
	}
	condition := "tenant_id = $1"
	for _, one := range l.Where {
		condition += " AND " + one
	}
	return s.entries(ctx, auditColumns+` FROM audit_log WHERE `+condition+` ORDER BY at, id LIMIT `+l.Arg(limit), l.Args...)
}

// entries reads entries by what follows SELECT.
func (s auditLog) entries(ctx context.Context, query string, args ...any) ([]audit.Entry, error) {
	var rows []auditRow
	if err := s.ReadRows(ctx, "read the audit log", &rows, `SELECT `+query, args...); err != nil {
		return nil, err
	}
	all := make([]audit.Entry, len(rows))
	for i, row := range rows {
		all[i] = row.restore()
	}
	return all, nil
}
