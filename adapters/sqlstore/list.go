package sqlstore

import (
	"context"
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
	kept    bool              // the table's total is kept
	active  *bool
	where   []string // further conditions, which the kept total cannot answer
	args    []any    // the tenant first
}

func listOf(table, columns string, owner tenant.ID, sorted map[string]string) *listing {
	return &listing{table: table, columns: columns, sorted: sorted, args: []any{string(owner)}}
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

// page reads one page into dest, a pointer to a slice of rows, and returns the
// number of all records that fit.
func (u *unit) page(ctx context.Context, l *listing, q domain.Query, dest any) (total int, err error) {
	if total, err = u.total(ctx, l); err != nil {
		return 0, err
	}
	column, ok := l.sorted[q.By()]
	if !ok {
		return 0, fmt.Errorf("list %s: there is no column to sort by %q", l.table, q.By())
	}
	direction := "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	if l.active != nil {
		l.equal("is_active", *l.active)
	}
	query := `SELECT ` + l.columns + ` FROM ` + l.table + ` WHERE ` + l.conditions() +
		` ORDER BY ` + column + ` ` + direction + `, id ` + direction +
		` LIMIT ` + l.arg(q.Limit()) + ` OFFSET ` + l.arg(q.Offset())
	return total, u.list(ctx, "list "+l.table, dest, query, l.args...)
}

func (l *listing) conditions() string {
	return strings.Join(append([]string{"tenant_id = $1"}, l.where...), " AND ")
}

// total asks for the kept total where that answers the question, and counts
// otherwise.
func (u *unit) total(ctx context.Context, l *listing) (total int, err error) {
	counted := *l
	query := `SELECT count(*) FROM ` + l.table + ` WHERE `
	if l.kept && len(l.where) == 0 {
		query = `SELECT coalesce(sum(n), 0) FROM totals WHERE kind = ` + counted.arg(l.table) + ` AND `
	}
	counted.where = append([]string(nil), l.where...)
	if l.active != nil {
		counted.equal("is_active", *l.active)
	}
	err = u.get(ctx, "count "+l.table, &total, query+counted.conditions(), counted.args...)
	return total, err
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
