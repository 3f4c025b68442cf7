package sqlstore

import "database/sql"

// Stats says how the connection pools are doing, by what they are for: writer and
// reader, or shared where one pool is for both.
func (s *Store) Stats() map[string]sql.DBStats {
	if s.reader == s.writer {
		return map[string]sql.DBStats{"shared": s.writer.db.Stats()}
	}
	return map[string]sql.DBStats{"writer": s.writer.db.Stats(), "reader": s.reader.db.Stats()}
}
