package core

import (
	"strconv"

	"github.com/sluicehq/sluice/domain/process"
)

// HasLevel adds to the condition on a table that a process of a level may have a row.
func HasLevel(table string, level process.Level) string {
	return " AND " + table + ".needs_level <= " + strconv.Itoa(int(level))
}
