package core

// SealedColumn is a column that holds sealed values, by which all of them are found when the key is rotated.
type SealedColumn struct {
	Table  string
	Keys   []string // the columns of its primary key: the tenant's and that of the record where it has them
	Column string   // also the field that its values are sealed for; of bytes, else of text
	Bytes  bool
	Record string // the record that its values are sealed for, in SQL; the tenant is tenant_id, empty where that is no key
}

// SealedColumns are all of them.
var SealedColumns = []SealedColumn{
	{Table: "hook_deliveries", Keys: []string{"tenant_id", "trigger_id", "id"}, Column: "sealed", Record: "id"},
	{Table: "connections", Keys: []string{"tenant_id", "id"}, Column: "secret", Record: "id"},
}
