package runs

import "time"

// LookAgainAfter sets how often followers ask the store by themselves.
func (s *Service) LookAgainAfter(pause time.Duration) { s.followed.pause = pause }
