package core

import (
	"encoding/json"
	"fmt"
)

// KeyRow is a row of [Dialect.Rows] that names a record.
type KeyRow struct {
	Tenant string `json:"tenant_id" db:"tenant_id"`
	ID     string `json:"id" db:"id"`
}

// Keys is the table expression over records' keys, and the parameter that holds them.
func (d *Dialect) Keys(rows []KeyRow) (table, parameter string, err error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", "", fmt.Errorf("encode keys: %w", err)
	}
	return d.Rows(1, Column{Name: "tenant_id"}, Column{Name: "id"}), string(text), nil
}
