package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// listing is a list of a tenant's records of one table, and which of them fit.
type listing struct {
	table   string
	columns string
	sorted  map[string]string // from a sort field to its column
	tie     string            // the column that breaks ties
	kept    bool              // the table's total is kept
	active  *bool
	where   []string // further conditions, which the kept total cannot answer
	args    []any    // the tenant first
}

func listOf(table, columns string, scope tenant.Scope, c scopeCondition, sorted map[string]string) *listing {
	l := &listing{table: table, columns: columns, sorted: sorted, tie: "id", args: []any{string(scope.Tenant())}}
	if sub := scope.SubTenant(); sub != nil && c != unconditional {
		l.where = append(l.where, c.to(l.arg(string(*sub))))
	}
	return l
}

// arg adds a parameter and returns its placeholder.
func (l *listing) arg(value any) string {
	l.args = append(l.args, value)
	return fmt.Sprintf("$%d", len(l.args))
}

// equal asks for a column's value.
func (l *listing) equal(column string, value any) {
	l.where = append(l.where, column+" = "+l.arg(value))
}

// search asks for records whose text holds the term, whatever its case.
func (l *listing) search(term string) {
	if term != "" {
		l.where = append(l.where, "search_text LIKE "+l.arg(pattern(term))+` ESCAPE '\'`)
	}
}

// metadata asks for records that have all pairs of the filter.
func (l *listing) metadata(f domain.MetadataFilter, d Dialect) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		l.where = append(l.where, d.HasPair("metadata", l.arg(key), l.arg(f[key])))
	}
}

// ofSubTenant asks for the records of a sub-tenant.
func (l *listing) ofSubTenant(sub *tenant.SubTenantID) {
	if sub != nil {
		l.equal("sub_tenant_id", string(*sub))
	}
}

// listRow is a row of a list. It says itself where its columns go: finding that out
// by reflection costs a fifth of a page.
type listRow[Row any] interface {
	*Row
	targets() []any // of the list's columns

	// size is how much of domain.Query.MaxBytes a record takes, and sizeSQL the same of its
	// columns. What is short and of a fixed form, such as identifiers, does not count.
	size() int
	sizeSQL() string
}

// textLen is the length of a text that may be absent.
func textLen(text *string) int {
	if text == nil {
		return 0
	}
	return len(*text)
}

// list reads one page with the number of all records that fit, in one statement, so
// that they are of one instant outside of a transaction too. Outside of one, the page
// of a table whose changes are counted may be an earlier one that is still true: then
// it is the very same page, whose records callers only read.
func list[Row any, P listRow[Row], T any](ctx context.Context, u *unit, l *listing, q domain.Query, restore func(Row) (T, error)) (domain.Page[T], error) {
	statement, count, args, err := l.statement(q)
	if err != nil {
		return domain.Page[T]{}, err
	}
	if u.tx != nil || !l.kept {
		found, err := read[Row, P](ctx, u, l, q, statement, count, args, restore)
		return found.Page, err
	}
	key := fmt.Sprintf("%s %q", statement, args)
	if kept, ok := u.store.pages.get(key); ok && (q.MaxBytes == 0 || kept.bytes <= q.MaxBytes) {
		var stamp string
		if err := u.get(ctx, "stamp of "+l.table, &stamp, l.stamp(), args[0]); err != nil {
			return domain.Page[T]{}, err
		}
		if found, ok := kept.page.(domain.Page[T]); ok && kept.stamp == stamp {
			return found, nil
		}
	}
	found, err := read[Row, P](ctx, u, l, q, statement, count, args, restore)
	if err == nil && len(found.Items) > 0 {
		found.Stamp = pageStamp(key, found.stamp)
		u.store.pages.put(key, keptPage{found.stamp, len(found.Items), found.bytes, found.Page})
	}
	return found.Page, err
}

// pageStamp is short and stands for a page at a state of its table.
func pageStamp(key, state string) string {
	digest := sha256.Sum256([]byte(key + " " + state))
	return hex.EncodeToString(digest[:16])
}

// statement is what reads the page, and what counts all records that fit, with the
// arguments of both: the last two are the page's.
func (l *listing) statement(q domain.Query) (page, count string, args []any, err error) {
	order, err := l.order(q)
	if err != nil {
		return "", "", nil, err
	}
	count = l.count()
	page = `SELECT ` + l.columns + `, (` + count + `) AS total, `
	if l.kept {
		page += `(` + l.stamp() + `) AS stamp`
	} else {
		page += `'' AS stamp`
	}
	page += ` FROM ` + l.table + ` WHERE ` + l.conditions() + order + l.limit(q)
	return page, count, l.args, nil
}

// order is the order that is asked for.
func (l *listing) order(q domain.Query) (string, error) {
	column, ok := l.sorted[q.By()]
	if !ok {
		return "", fmt.Errorf("list %s: there is no column to sort by %q", l.table, q.By())
	}
	direction := "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	return ` ORDER BY ` + column + ` ` + direction + `, ` + l.tie + ` ` + direction, nil
}

// limit takes the last two arguments.
func (l *listing) limit(q domain.Query) string {
	return ` LIMIT ` + l.arg(q.Limit()) + ` OFFSET ` + l.arg(q.Offset())
}

// stamp is the query for what differs whenever the tenant's records of the table do.
func (l *listing) stamp() string {
	return `SELECT coalesce(sum(n), 0) || '/' || coalesce(sum(changes), 0) FROM totals WHERE tenant_id = $1 AND kind = '` + l.table + `'`
}

// readPage is a page with what is known of it besides its records.
type readPage[T any] struct {
	domain.Page[T]
	stamp string
	bytes int // see [listRow]
}

func read[Row any, P listRow[Row], T any](
	ctx context.Context, u *unit, l *listing, q domain.Query, statement, count string, args []any, restore func(Row) (T, error),
) (readPage[T], error) {
	found := readPage[T]{Page: domain.Page[T]{Limit: q.Limit(), Offset: q.Offset()}}
	err := u.each(ctx, "list "+l.table, func(rows *sql.Rows) error {
		var row Row
		if err := rows.Scan(append(P(&row).targets(), &found.Total, &found.stamp)...); err != nil {
			return err
		}
		found.bytes += P(&row).size()
		if q.MaxBytes > 0 && found.bytes > q.MaxBytes {
			return errTooLarge
		}
		item, err := restore(row)
		found.Items = append(found.Items, item)
		return err
	}, statement, args...)
	switch {
	case errors.Is(err, errTooLarge):
		return readPage[T]{}, u.tooLarge(ctx, l, q, P(nil).sizeSQL(), statement, args)
	case err != nil:
		return readPage[T]{}, err
	case len(found.Items) == 0 && q.Offset() > 0: // past the end
		err = u.get(ctx, "count "+l.table, &found.Total, count, args[:len(args)-2]...)
	}
	return found, err
}

// errTooLarge ends the reading of a page above the bound.
var errTooLarge = errors.New("the page is too large")

// tooLarge finds out how large a page is, without reading its texts.
func (u *unit) tooLarge(ctx context.Context, l *listing, q domain.Query, size, statement string, args []any) error {
	var whole struct {
		Records int `db:"records"`
		Bytes   int `db:"bytes"`
	}
	err := u.get(ctx, "measure "+l.table, &whole, `SELECT count(*) AS records, coalesce(sum(`+size+`), 0) AS bytes FROM (`+statement+`) AS page`, args...)
	if err != nil {
		return err
	}
	return &domain.PageTooLarge{Records: whole.Records, Bytes: whole.Bytes, MaxBytes: q.MaxBytes}
}

func (l *listing) conditions() string {
	return strings.Join(append([]string{"tenant_id = $1"}, l.where...), " AND ")
}

// count completes the conditions and returns the query for the number of records
// that fit: the kept total where that answers the question.
func (l *listing) count() string {
	kept := l.kept && len(l.where) == 0
	if l.active != nil {
		l.equal("is_active", *l.active)
	}
	if kept {
		return `SELECT coalesce(sum(n), 0) FROM totals WHERE kind = '` + l.table + `' AND ` + l.conditions()
	}
	return `SELECT count(*) FROM ` + l.table + ` WHERE ` + l.conditions()
}

// searchText is what the text filter looks in: texts in lower case, apart from one
// another by a character that no text may hold.
func searchText(name string, description *string) string {
	text := fold(name)
	if description != nil {
		text += "\x1f" + fold(*description)
	}
	return text
}

// pattern is what LIKE is asked for when a text must hold the term as it is.
func pattern(term string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(term)) + "%"
}

// fold makes texts that differ in case only the same. Going through upper case
// first brings letters together that have several lower-case forms.
func fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }
