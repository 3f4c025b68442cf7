package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/ports/inbound"
)

// troubled is a loop that reports errors and ends.
type troubled []error

func (l troubled) Run(_ context.Context, failed func(error)) {
	for _, err := range l {
		failed(err)
	}
}

func (troubled) Panics() int64 { return 7 }

func TestEveryPanicIsLoggedWithItsStackAndFailuresOnceInAWhile(t *testing.T) {
	var log strings.Builder
	thrown := fmt.Errorf("trigger trg_1: %w", &inbound.Panic{Value: "on purpose", Stack: []byte("goroutine 1")})
	runLoop(t.Context(), zerolog.New(&log), "firing schedules", troubled{errors.New("the database is away"), errors.New("still"), thrown, thrown})
	var got []map[string]any
	for line := range strings.Lines(log.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one)
	}
	panicked := map[string]any{
		"level": "error", "error": "trigger trg_1: panic: on purpose", "stack": "goroutine 1", "panics": 7.0, "message": "firing schedules panicked; it continues",
	}
	want := []map[string]any{
		{"level": "warn", "error": "the database is away", "omitted": 0.0, "message": "firing schedules failed; it is tried again"}, panicked, panicked,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// failingLoop fails each second.
type failingLoop struct{}

func (failingLoop) Panics() int64 { return 0 }

func (failingLoop) Run(ctx context.Context, failed func(error)) {
	for ctx.Err() == nil {
		failed(errors.New("the database is gone"))
		time.Sleep(time.Second)
	}
}

func TestWhatFailsEachSecondIsLoggedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 25*time.Second)
		defer stop()
		var log bytes.Buffer
		runLoop(ctx, zerolog.New(&log), "delivering webhooks", failingLoop{})
		if n := strings.Count(log.String(), "the database is gone"); n != 3 || !strings.Contains(log.String(), `"omitted":9`) {
			t.Errorf("%d lines: %s", n, log.String())
		}
	})
}
