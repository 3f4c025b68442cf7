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

	"github.com/sluicehq/sluice/ports/inbound"
)

// troubled is a loop that tells of errors and ends.
type troubled []error

func (l troubled) Run(_ context.Context, failed func(error)) {
	for _, err := range l {
		failed(err)
	}
}

func (troubled) Panics() int64 { return 7 }

func TestEveryPanicIsLoggedWithItsStackAndFailuresSparingly(t *testing.T) {
	var log strings.Builder
	thrown := fmt.Errorf("trigger trg_1: %w", &inbound.Panic{Thrown: "on purpose", Stack: []byte("goroutine 1")})
	keepGoing(t.Context(), zerolog.New(&log), "firing schedules", troubled{errors.New("the database is away"), errors.New("still"), thrown, thrown})
	var got []map[string]any
	for line := range strings.Lines(log.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one)
	}
	panicked := map[string]any{
		"level": "error", "error": "trigger trg_1: panic: on purpose", "stack": "goroutine 1", "panics": 7.0, "message": "firing schedules panicked; it goes on",
	}
	want := []map[string]any{
		{"level": "warn", "error": "the database is away", "unsaid": 0.0, "message": "firing schedules failed; it is tried again"}, panicked, panicked,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
