package sqlstore

import "sync/atomic"

// alarm is called when something is to be told to webhook endpoints.
type alarm struct{ call atomic.Pointer[func()] }

// OnEvents makes the store call fn after each unit in which an event happened, or an
// attempt to deliver one became due at once, so that who delivers need not look for it.
// It replaces the function before it. fn must not block.
func (s *Store) OnEvents(fn func()) { s.events.call.Store(&fn) }

// ring calls who waits, when a unit that has committed gave reason to.
func (a *alarm) ring(reason bool) {
	if call := a.call.Load(); reason && call != nil {
		(*call)()
	}
}
