package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
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

func listOf(table, columns string, owner tenant.ID, sorted map[string]string) *listing {
	return &listing{table: table, columns: columns, sorted: sorted, tie: "id", args: []any{string(owner)}}
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

// ofSubTenant asks for the records of a sub-tenant.
func (l *listing) ofSubTenant(sub *tenant.SubTenantID) {
	if sub != nil {
		l.equal("sub_tenant_id", string(*sub))
	}
}

// counted is embedded in the rows of a list: how many rows fit in all.
type counted struct{ Total int }

func (c *counted) total() int { return c.Total }

// listRow is a row of a list. It says itself where its columns go: finding that out
// by reflection costs a fifth of a page.
type listRow[Row any] interface {
	*Row
	targets() []any // of the list's columns, and of the total
	total() int
}

// page reads one page and the number of all records that fit. One statement reads
// both, so that they are of one instant outside of a transaction too.
func page[Row any, P listRow[Row]](ctx context.Context, u *unit, l *listing, q domain.Query) (rows []Row, total int, err error) {
	column, ok := l.sorted[q.By()]
	if !ok {
		return nil, 0, fmt.Errorf("list %s: there is no column to sort by %q", l.table, q.By())
	}
	direction := "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	count := l.count()
	query := `SELECT ` + l.columns + `, (` + count + `) AS total FROM ` + l.table + ` WHERE ` + l.conditions() +
		` ORDER BY ` + column + ` ` + direction + `, ` + l.tie + ` ` + direction
	beforePage := len(l.args)
	query += ` LIMIT ` + l.arg(q.Limit()) + ` OFFSET ` + l.arg(q.Offset())
	rows = make([]Row, 0, q.Limit())
	err = u.each(ctx, "list "+l.table, func(found *sql.Rows) error {
		rows = append(rows, *new(Row))
		return found.Scan(P(&rows[len(rows)-1]).targets()...)
	}, query, l.args...)
	switch {
	case err != nil:
		return nil, 0, err
	case len(rows) > 0:
		return rows, P(&rows[0]).total(), nil
	case q.Offset() == 0:
		return nil, 0, nil
	}
	err = u.get(ctx, "count "+l.table, &total, count, l.args[:beforePage]...) // past the end
	return nil, total, err
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

// restored turns the rows of a page into what they stand for.
func restored[Row, T any](rows []Row, total int, q domain.PageRequest, restore func(Row) (T, error)) (domain.Page[T], error) {
	found := domain.Page[T]{Total: total, Limit: q.Limit(), Offset: q.Offset()}
	for _, row := range rows {
		item, err := restore(row)
		if err != nil {
			return domain.Page[T]{}, err
		}
		found.Items = append(found.Items, item)
	}
	return found, nil
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
