package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/application/runs"
)

// troubledWorker tells of errors and ends.
type troubledWorker []error

func (w troubledWorker) Run(_ context.Context, failed func(error)) {
	for _, err := range w {
		failed(err)
	}
}

func (troubledWorker) Panics() int64 { return 7 }

func TestEveryPanicOfTheWorkerIsLoggedWithItsStack(t *testing.T) {
	var log strings.Builder
	thrown := fmt.Errorf("run run_1: %w", &runs.Panic{Thrown: "on purpose", Stack: []byte("goroutine 1")})
	work(t.Context(), zerolog.New(&log), troubledWorker{errors.New("the database is away"), errors.New("still"), thrown, thrown})
	var got []map[string]any
	for line := range strings.Lines(log.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one)
	}
	panicked := map[string]any{
		"level": "error", "error": "run run_1: panic: on purpose", "stack": "goroutine 1", "panics": 7.0, "message": "moving runs on panicked; it goes on",
	}
	want := []map[string]any{
		{"level": "warn", "error": "the database is away", "unsaid": 0.0, "message": "moving runs on failed; it is tried again"}, panicked, panicked,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
