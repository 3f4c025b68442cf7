package outbound_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

func TestAwaitTellsASignalFromTheEndOfTheTime(t *testing.T) {
	for claim, one := range map[string]struct {
		after time.Duration // until what ends it happens
		do    func(signal chan<- struct{}, end func())
		woken bool
		took  time.Duration
	}{
		"nothing happens":         {time.Hour, func(chan<- struct{}, func()) {}, false, time.Minute},
		"a signal":                {time.Second, func(signal chan<- struct{}, _ func()) { signal <- struct{}{} }, true, time.Second},
		"a signal that was there": {0, func(signal chan<- struct{}, _ func()) { signal <- struct{}{} }, true, 0},
		"the context ends":        {time.Second, func(_ chan<- struct{}, end func()) { end() }, false, time.Second},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				signal, began := make(chan struct{}, 1), time.Now()
				timer := time.AfterFunc(one.after, func() { one.do(signal, end) })
				defer timer.Stop()
				woken := outbound.Await(ctx, signal, time.Minute)
				if took := time.Since(began); woken != one.woken || took != one.took {
					t.Errorf("%t after %s", woken, took)
				}
			})
		})
	}
}
