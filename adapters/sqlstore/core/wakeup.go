package core

import "sync/atomic"

// signal is called after units that give reason to.
type signal struct{ call atomic.Pointer[func()] }

// OnEvents makes the store call fn after each unit in which an event happened, or an
// attempt to deliver one became due at once, so that a dispatcher need not look for it.
// It replaces the function before it. fn must not block.
func (s *Store) OnEvents(fn func()) { s.events.call.Store(&fn) }

// OnAudited does the same after each unit that has added entries to the audit log.
func (s *Store) OnAudited(fn func()) { s.audited.call.Store(&fn) }

// notify calls the function when a unit that has committed gave reason to.
func (s *signal) notify(reason bool) {
	if call := s.call.Load(); reason && call != nil {
		(*call)()
	}
}
