package core

import (
	"time"

	"github.com/jmoiron/sqlx"
)

// WriterOf is the pool of the units that write.
func WriterOf(s *Store) *sqlx.DB { return s.writer.db }

// AgeWriteCheck makes it time for the next test write.
func AgeWriteCheck(s *Store) {
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	s.writes.at = time.Time{}
}
