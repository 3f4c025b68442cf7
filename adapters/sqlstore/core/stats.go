package core

import (
	"database/sql"
	"time"
)

// Stats says how the connection pools are doing, by what they are for: writer and
// reader, or shared where one pool is for both.
func (s *Store) Stats() map[string]sql.DBStats {
	writer := s.writer.db.Stats()
	writer.WaitCount += s.waits.Load()
	writer.WaitDuration += time.Duration(s.waited.Load())
	if s.reader == s.writer {
		return map[string]sql.DBStats{"shared": writer}
	}
	return map[string]sql.DBStats{"writer": writer, "reader": s.reader.db.Stats()}
}
