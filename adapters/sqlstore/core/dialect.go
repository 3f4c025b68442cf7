package core

import "strings"

// Dialect is what differs between the databases.
type Dialect struct {
	// ForUpdate is appended to a SELECT whose rows the unit will change. It is empty
	// where writing units run one after another anyway.
	ForUpdate string

	// ClaimRows is appended to a SELECT whose rows belong to the unit from then on, and
	// leaves out those that another unit has. It is empty where ForUpdate is.
	ClaimRows string

	// PlanFreshly selects a number, and makes the unit's statements be planned for the
	// tables as they are: prepared statements keep plans that were made while there was
	// little in them, and that read all of it. It is empty where plans do not depend on that.
	PlanFreshly string

	// Rows is a table expression named r over the parameter of a number, a JSON array of
	// objects, whose members are the columns.
	Rows func(parameter int, columns ...Column) string

	// HasPair is the condition that a column, an object of JSON whose values are texts, has a
	// pair of texts.
	HasPair func(column, key, value string) string

	// Clock is the time by the database's clock, to the millisecond and as it keeps times.
	Clock string

	// Lateral says whether a subquery in FROM may refer to what stands before it.
	Lateral bool

	// Translate turns an error of the driver into one that the ports speak of. It
	// returns other errors as they are.
	Translate func(error) error
}

// Column is a column of [Dialect.Rows].
type Column struct {
	Name string
	Time bool // an instant, written as [TimeFormat] says
	JSON bool // any value

	// Bytes are written in hexadecimal digits behind `\x`, as PostgreSQL reads them. A column that is none of these is a text.
	Bytes bool
}

// ColumnsOf lists columns of a table for a SELECT. table is what the query calls it, with a dot, or
// nothing.
func ColumnsOf(table string, columns ...string) string {
	return table + strings.Join(columns, ", "+table)
}
