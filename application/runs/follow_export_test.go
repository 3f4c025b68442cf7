package runs

import "time"

// SetPollInterval sets how often followers ask the store by themselves.
func (s *Service) SetPollInterval(pause time.Duration) { s.followers.interval = pause }
