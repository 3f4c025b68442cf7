package core

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

// List is a list of a tenant's records of one table, and which of them fit.
type List struct {
	table     string
	Columns   string
	sorted    map[string]string // from a sort field to its column
	Tie       string            // the column that breaks ties
	TotalKept bool              // the table totals has how many there are
	Active    *bool             // nil for all
	Where     []string          // further conditions, which the kept total cannot answer
	Args      []any             // the tenant first
}

// NewList returns the list of the records of a table within a scope: what a row is read from, and the
// columns that it can be sorted by.
func NewList(table, columns string, scope tenant.Scope, c ScopeCondition, sorted map[string]string) *List {
	l := &List{table: table, Columns: columns, sorted: sorted, Tie: "id", Args: []any{string(scope.Tenant())}}
	l.Where = c.conditions(scope, l.Arg)
	return l
}

// NewListOfAll returns the list of the records of a table of all tenants, which the caller reads with [ReadPageBy].
func NewListOfAll(table, columns string, sorted map[string]string) *List {
	return &List{table: table, Columns: columns, sorted: sorted, Tie: "id"}
}

// Arg adds a parameter and returns its placeholder.
func (l *List) Arg(value any) string {
	l.Args = append(l.Args, value)
	return fmt.Sprintf("$%d", len(l.Args))
}

// Equal asks for a column's value.
func (l *List) Equal(column string, value any) {
	l.Where = append(l.Where, column+" = "+l.Arg(value))
}

// Search asks for records whose text holds the term, whatever its case.
func (l *List) Search(term string) {
	if term != "" {
		l.Where = append(l.Where, "search_text LIKE "+l.Arg(pattern(term))+` ESCAPE '\'`)
	}
}

// Metadata asks for records that have all pairs of the filter; hasPair is [Dialect.HasPair].
func (l *List) Metadata(f domain.MetadataFilter, hasPair func(column, key, value string) string) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		l.Where = append(l.Where, hasPair("metadata", l.Arg(key), l.Arg(f[key])))
	}
}

// OfSubTenant asks for the records of a sub-tenant.
func (l *List) OfSubTenant(sub *tenant.SubTenantID) {
	if sub != nil {
		l.Equal("sub_tenant_id", string(*sub))
	}
}

// ListRow is a row of a list. It says itself where its columns go: finding that out
// by reflection costs a fifth of a page.
type ListRow[Row any] interface {
	*Row
	Targets() []any // of the list's columns

	// Size is how much of domain.Query.MaxBytes a record takes, and SizeSQL the same of its
	// columns. What is short and of a fixed form, such as identifiers, does not count.
	Size() int
	SizeSQL() string
}

// TextLen is the length of a text that may be absent.
func TextLen(text *string) int {
	if text == nil {
		return 0
	}
	return len(*text)
}

// ReadPage reads one page with the number of all records that fit, in one statement, so
// that they are of one instant outside of a transaction too. Outside of one, the page
// of a table whose changes are counted may be an earlier one that is still true: then
// it is the very same page, whose records callers only read.
func ReadPage[Row any, P ListRow[Row], T any](ctx context.Context, u *Unit, l *List, q domain.Query, restore func(Row) (T, error)) (domain.Page[T], error) {
	statement, count, args, err := l.statement(q)
	if err != nil {
		return domain.Page[T]{}, err
	}
	if u.tx != nil || !l.TotalKept {
		found, err := read[Row, P](ctx, u, l, q, statement, count, args, restore)
		return found.Page, err
	}
	key := fmt.Sprintf("%s %q", statement, args)
	if kept, ok := u.store.pages.get(key); ok && (q.MaxBytes == 0 || kept.bytes <= q.MaxBytes) {
		var stamp string
		if err := u.ReadRow(ctx, "stamp of "+l.table, &stamp, l.stamp(), args[0]); err != nil {
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

// ReadPageBy reads the page of a list by statements of the caller's: one that reads the page, with the
// columns total and stamp behind those of the list, and one that counts all records that fit. The
// arguments of both are the list's, of which the last two are the page's.
func ReadPageBy[Row any, P ListRow[Row], T any](
	ctx context.Context, u *Unit, l *List, q domain.Query, statement, count string, restore func(Row) (T, error),
) (domain.Page[T], error) {
	found, err := read[Row, P](ctx, u, l, q, statement, count, l.Args, restore)
	return found.Page, err
}

// pageStamp is short and stands for a page at a state of its table.
func pageStamp(key, state string) string {
	digest := sha256.Sum256([]byte(key + " " + state))
	return hex.EncodeToString(digest[:16])
}

// statement is what reads the page, and what counts all records that fit, with the
// arguments of both: the last two are the page's.
func (l *List) statement(q domain.Query) (page, count string, args []any, err error) {
	order, err := l.Order(q)
	if err != nil {
		return "", "", nil, err
	}
	count = l.count()
	page = `SELECT ` + l.Columns + `, (` + count + `) AS total, `
	if l.TotalKept {
		page += `(` + l.stamp() + `) AS stamp`
	} else {
		page += `'' AS stamp`
	}
	page += ` FROM ` + l.table + ` WHERE ` + l.conditions() + order + l.Limit(q)
	return page, count, l.Args, nil
}

// Order is the order that is asked for.
func (l *List) Order(q domain.Query) (string, error) {
	column, ok := l.sorted[q.By()]
	if !ok {
		return "", fmt.Errorf("list %s: there is no column to sort by %q", l.table, q.By())
	}
	direction := "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	return ` ORDER BY ` + column + ` ` + direction + `, ` + l.Tie + ` ` + direction, nil
}

// Limit takes the last two arguments.
func (l *List) Limit(q domain.Query) string {
	return ` LIMIT ` + l.Arg(q.Limit()) + ` OFFSET ` + l.Arg(q.Offset())
}

// stamp is the query for what differs whenever the tenant's records of the table do.
func (l *List) stamp() string {
	return `SELECT coalesce(sum(n), 0) || '/' || coalesce(sum(changes), 0) FROM totals WHERE tenant_id = $1 AND kind = '` + l.table + `'`
}

// readPage is a page with what is known of it besides its records.
type readPage[T any] struct {
	domain.Page[T]
	stamp string
	bytes int // see [ListRow]
}

func read[Row any, P ListRow[Row], T any](
	ctx context.Context, u *Unit, l *List, q domain.Query, statement, count string, args []any, restore func(Row) (T, error),
) (readPage[T], error) {
	found := readPage[T]{Page: domain.Page[T]{Limit: q.Limit(), Offset: q.Offset()}}
	var kept []Row // restored once the connection is free, since to open a secret may take a query
	err := u.EachRow(ctx, "list "+l.table, func(rows *sql.Rows) error {
		var row Row
		if err := rows.Scan(append(P(&row).Targets(), &found.Total, &found.stamp)...); err != nil {
			return err
		}
		found.bytes += P(&row).Size()
		if q.MaxBytes > 0 && found.bytes > q.MaxBytes {
			return errTooLarge
		}
		kept = append(kept, row)
		return nil
	}, statement, args...)
	for _, row := range kept {
		if err != nil {
			break
		}
		var item T
		item, err = restore(row)
		found.Items = append(found.Items, item)
	}
	switch {
	case errors.Is(err, errTooLarge):
		return readPage[T]{}, u.tooLarge(ctx, l, q, P(nil).SizeSQL(), statement, args)
	case err != nil:
		return readPage[T]{}, err
	case len(found.Items) == 0 && q.Offset() > 0: // past the end
		err = u.ReadRow(ctx, "count "+l.table, &found.Total, count, args[:len(args)-2]...)
	}
	return found, err
}

// errTooLarge ends the reading of a page above the bound.
var errTooLarge = errors.New("the page is too large")

// tooLarge finds out how large a page is, without reading its texts.
func (u *Unit) tooLarge(ctx context.Context, l *List, q domain.Query, size, statement string, args []any) error {
	var whole struct {
		Records int `db:"records"`
		Bytes   int `db:"bytes"`
	}
	err := u.ReadRow(ctx, "measure "+l.table, &whole, `SELECT count(*) AS records, coalesce(sum(`+size+`), 0) AS bytes FROM (`+statement+`) AS page`, args...)
	if err != nil {
		return err
	}
	return &domain.PageTooLarge{Records: whole.Records, Bytes: whole.Bytes, MaxBytes: q.MaxBytes}
}

func (l *List) conditions() string {
	return strings.Join(append([]string{"tenant_id = $1"}, l.Where...), " AND ")
}

// count completes the conditions and returns the query for the number of records
// that fit: the kept total where that answers the question.
func (l *List) count() string {
	kept := l.TotalKept && len(l.Where) == 0
	if l.Active != nil {
		l.Equal("is_active", *l.Active)
	}
	if kept {
		return `SELECT coalesce(sum(n), 0) FROM totals WHERE kind = '` + l.table + `' AND ` + l.conditions()
	}
	return `SELECT count(*) FROM ` + l.table + ` WHERE ` + l.conditions()
}

// SearchText is what the text filter looks in: texts in lower case, apart from one
// another by a character that no text may hold.
func SearchText(name string, description *string) string {
	text := Fold(name)
	if description != nil {
		text += "\x1f" + Fold(*description)
	}
	return text
}

// pattern is what LIKE is asked for when a text must hold the term as it is.
func pattern(term string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(Fold(term)) + "%"
}

// Fold makes texts that differ in case only the same. Going through upper case
// first brings letters together that have several lower-case forms.
func Fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }
