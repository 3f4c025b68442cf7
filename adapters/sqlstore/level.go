package sqlstore

import "strconv"

// hasLevel adds to the condition on a table that this process has the level that a row needs.
func (s *Store) hasLevel(table string) string {
	return " AND " + table + ".needs_level <= " + strconv.Itoa(int(s.Level))
}
