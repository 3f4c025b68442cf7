package trigger_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

func TestAnIntervalCountsFromItsAnchor(t *testing.T) {
	s := trigger.NewIntervalSchedule(90*time.Second, at("2026-03-01T12:00:10+02:00"))
	for after, want := range map[string]string{
		"2020-01-01T00:00:00Z":      "2026-03-01T10:01:40Z", // the first is one interval after the anchor
		"2026-03-01T10:00:10Z":      "2026-03-01T10:01:40Z",
		"2026-03-01T10:01:39.999Z":  "2026-03-01T10:01:40Z",
		"2026-03-01T10:01:40Z":      "2026-03-01T10:03:10Z",
		"2026-03-01T12:01:41+02:00": "2026-03-01T10:03:10Z",
	} {
		got, ok := s.Next(at(after))
		if diff := cmp.Diff(trigger.Occurrence{At: at(want)}, got); diff != "" || !ok {
			t.Errorf("after %s: %v %s", after, ok, diff)
		}
		if got.At.Location() != time.UTC {
			t.Errorf("after %s: the instant is in %s", after, got.At.Location())
		}
	}
}

func TestIntervalsKeepTheirRhythm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(60_000, 100*365*86_400_000).Draw(t, "ms")) * time.Millisecond
		anchor := time.UnixMilli(rapid.Int64Range(1e12, 4e12).Draw(t, "anchor"))
		after := time.UnixMilli(rapid.Int64Range(1e12, 8e12).Draw(t, "after"))
		next, ok := trigger.NewIntervalSchedule(interval, anchor).Next(after)
		since := next.At.Sub(anchor)
		if !ok || !next.At.After(after) || since <= 0 || since%interval != 0 {
			t.Fatalf("every %s from %s: %s follows %s", interval, anchor, next.At, after)
		}
		if previous := next.At.Add(-interval); previous.After(after) && previous.After(anchor) {
			t.Fatalf("every %s from %s: %s was left out", interval, anchor, previous)
		}
	})
}

func TestTheZeroScheduleIsNeverDue(t *testing.T) {
	var s trigger.Schedule
	if next, ok := s.Next(at("2026-01-01T00:00:00Z")); ok {
		t.Errorf("it is due at %v", next)
	}
	if all := s.Upcoming(at("2026-01-01T00:00:00Z"), 3); len(all) != 0 {
		t.Errorf("it is due at %v", all)
	}
}

// The upcoming occurrences start after the instant and rise.
func TestUpcomingListsOccurrencesInOrder(t *testing.T) {
	s := trigger.NewCronSchedule(mustParse(t, "0 6 * * *"), zone(t, "Asia/Kathmandu"))
	want := []trigger.Occurrence{{At: at("2026-05-02T00:15:00Z")}, {At: at("2026-05-03T00:15:00Z")}}
	if diff := cmp.Diff(want, s.Upcoming(at("2026-05-01T00:15:00Z"), 2)); diff != "" {
		t.Error(diff)
	}
	if got := s.Upcoming(at("2026-05-01T00:15:00Z"), 0); len(got) != 0 {
		t.Errorf("none were asked for: %v", got)
	}
}
