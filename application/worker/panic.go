package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// recoverPanic calls fn, and makes an error of a panic.
func (s *session) recoverPanic(what string, fn func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("%s: %w", what, inbound.Panicked(thrown))
		}
	}()
	return fn()
}

// restartOnPanic calls fn until it returns without a panic.
func (s *session) restartOnPanic(what string, fn func()) {
	for {
		err := s.recoverPanic(what, func() error { fn(); return nil })
		if err == nil {
			return
		}
		s.report(err)
		outbound.Sleep(context.WithoutCancel(s.units), failurePause)
	}
}

// panicCounts count how often runs have panicked.
type panicCounts struct {
	mu    sync.Mutex
	times map[run.ID]int
}

// exceeded counts a panic, and says whether it was the last that is put up with.
func (d *panicCounts) exceeded(id run.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.times) >= maxCountedRuns {
		clear(d.times) // so many are not the runs' own fault
	}
	d.times[id]++
	if d.times[id] < maxRefusals {
		return false
	}
	delete(d.times, id)
	return true
}
