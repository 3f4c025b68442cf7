package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

func TestFactsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	facts := []run.PastFact{
		{At: noon.Add(time.Millisecond), Fact: run.TimeReached{}},
		{At: noon, Fact: run.AttemptCompleted{Node: "n <1>", Attempt: 2, Output: json.RawMessage(`{"a":"line\n","b":1.50}`), Log: []string{"l\u2028"}, Redacted: true}},
		{At: noon, Fact: run.AttemptCompleted{Node: "n", Attempt: 1, Output: json.RawMessage(`null`)}},
		{At: noon, Fact: run.AttemptFailed{Node: "n", Attempt: 1, Code: "code", Message: "m\n", Retryable: true, RetryAfter: 1500 * time.Millisecond, Log: []string{"l"}, Redacted: true}},
	}
	var lines []byte
	for _, f := range facts {
		line, ok := run.EncodeFact(f)
		if !ok {
			t.Fatalf("%+v is not written", f)
		}
		lines = append(lines, line...)
	}
	read, err := run.DecodeFacts(lines)
	if diff := cmp.Diff(facts, read); diff != "" || err != nil {
		t.Error(err, diff)
	}
	// What older versions wrote is read for as long as runs of theirs may live.
	const written = `{"at":1772366400000,"completed":{"node":"n","attempt":1,"output":{"a":1}}}` + "\n"
	old, err := run.DecodeFacts([]byte(written))
	if want := []run.PastFact{{At: noon, Fact: run.AttemptCompleted{Node: "n", Attempt: 1, Output: json.RawMessage(`{"a":1}`)}}}; !cmp.Equal(want, old) || err != nil {
		t.Errorf("%+v, %v", old, err)
	}
}

func TestFactsThatTheDatabaseHasToKnowAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, f := range []run.Fact{run.Started{}, run.CancelRequested{}, run.RetryRequested{}, run.AttemptPaused{Node: "n"}, run.AttemptCalled{Node: "n"}, run.EventArrived{}, run.Resumed{}, run.AttemptCompleted{Node: "n", Output: make(chan int)}} {
		if line, ok := run.EncodeFact(run.PastFact{At: noon, Fact: f}); ok {
			t.Errorf("%T is written as %s", f, line)
		}
	}
	for _, text := range []string{"{", `{"at":"noon"}`, `[]`} {
		if facts, err := run.DecodeFacts([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, facts)
		}
	}
}
