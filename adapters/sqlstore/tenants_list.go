package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// tenantsSorted gives the column of a sort field.
var tenantsSorted = map[string]string{"name": "name", "createdAt": "created_at", "updatedAt": "updated_at"}

// List reads a page of the tenants that fit, in one statement.
func (s tenants) List(ctx context.Context, f tenant.Filter, q domain.Query) (domain.Page[*tenant.Tenant], error) {
	if f.Search != "" {
		return s.search(ctx, f, q)
	}
	found := domain.Page[*tenant.Tenant]{Limit: q.Limit(), Offset: q.Offset()}
	order, err := s.order(q)
	if err != nil {
		return found, err
	}
	fits, args := s.fitting(f)
	count := `SELECT count(*) FROM tenants` + fits
	err = s.EachRow(ctx, "list tenants", func(rows *sql.Rows) error {
		var row tenantRow
		if err := rows.Scan(append(row.Targets(), &found.Total)...); err != nil {
			return err
		}
		ten, err := row.restore(s.store)
		found.Items = append(found.Items, ten)
		return err
	}, fmt.Sprintf(`SELECT `+tenantColumns+`, (`+count+`) AS total FROM tenants%s%s LIMIT $%d OFFSET $%d`, fits, order, len(args)+1, len(args)+2),
		append(args, q.Limit(), q.Offset())...)
	if err == nil && len(found.Items) == 0 && q.Offset() > 0 { // past the end
		err = s.ReadRow(ctx, "count tenants", &found.Total, count, args...)
	}
	return found, err
}

// search reads all tenants that the rest of the filter takes, and keeps the page of those
// whose name holds the term. A database would have to read them all just so, for no index
// finds a part of a text, and does not know what letters differ in case only.
func (s tenants) search(ctx context.Context, f tenant.Filter, q domain.Query) (domain.Page[*tenant.Tenant], error) {
	found := domain.Page[*tenant.Tenant]{Limit: q.Limit(), Offset: q.Offset()}
	order, err := s.order(q)
	if err != nil {
		return found, err
	}
	fits, args := s.fitting(f)
	term := core.Fold(f.Search)
	err = s.EachRow(ctx, "search tenants", func(rows *sql.Rows) error {
		var row tenantRow
		if err := rows.Scan(row.Targets()...); err != nil {
			return err
		}
		if !strings.Contains(core.Fold(row.Name), term) {
			return nil
		}
		if found.Total++; found.Total <= q.Offset() || len(found.Items) == q.Limit() {
			return nil
		}
		ten, err := row.restore(s.store)
		found.Items = append(found.Items, ten)
		return err
	}, `SELECT `+tenantColumns+` FROM tenants`+fits+order, args...)
	return found, err
}

// fitting is the condition for tenants of the filter's status and metadata.
func (s tenants) fitting(f tenant.Filter) (condition string, args []any) {
	l := &core.List{}
	if f.ID != "" {
		l.Equal("id", string(f.ID))
	}
	if f.Status != nil {
		l.Equal("status", string(*f.Status))
	}
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	if len(l.Where) == 0 {
		return "", nil
	}
	return ` WHERE ` + strings.Join(l.Where, " AND "), l.Args
}

// order is the order that is asked for, ties by identifier in the same direction.
func (s tenants) order(q domain.Query) (string, error) {
	column, ok := tenantsSorted[q.By()]
	if !ok {
		return "", fmt.Errorf("list tenants: there is no column to sort by %q", q.By())
	}
	if column == "name" {
		column += s.store.dialect.Bytewise
	}
	direction := " DESC"
	if q.Ascending {
		direction = " ASC"
	}
	return ` ORDER BY ` + column + direction + `, id` + direction, nil
}

// Targets are where the columns of a row go.
func (row *tenantRow) Targets() []any {
	return append([]any{&row.ID, &row.Name, &row.Status, &row.Settings, &row.Metadata, &row.CreatedAt, &row.UpdatedAt, &row.Revision}, row.targets()...)
}
