package core

import "sync/atomic"

// eventSignal is called when there may be something to send to webhook endpoints.
type eventSignal struct{ call atomic.Pointer[func()] }

// OnEvents makes the store call fn after each unit in which an event happened, or an
// attempt to deliver one became due at once, so that a dispatcher need not look for it.
// It replaces the function before it. fn must not block.
func (s *Store) OnEvents(fn func()) { s.events.call.Store(&fn) }

// notify calls the function when a unit that has committed gave reason to.
func (e *eventSignal) notify(reason bool) {
	if call := e.call.Load(); reason && call != nil {
		(*call)()
	}
}
