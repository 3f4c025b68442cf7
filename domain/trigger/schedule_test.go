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
		interval := rapid.Int64Range(60_000, 100*365*86_400_000).Draw(t, "interval") // all in milliseconds
		anchor := rapid.Int64Range(1e12, 4e12).Draw(t, "anchor")
		after := rapid.Int64Range(1e12, 8e12).Draw(t, "after")
		s := trigger.NewIntervalSchedule(time.Duration(interval)*time.Millisecond, time.UnixMilli(anchor))
		want := anchor + interval
		if after >= anchor {
			want += (after - anchor) / interval * interval
		}
		if next, ok := s.Next(time.UnixMilli(after)); !ok || next.At.UnixMilli() != want {
			t.Fatalf("%d follows, not %d", next.At.UnixMilli(), want)
		}
	})
}

func TestAnIntervalGoesOnBeyondWhatADurationHolds(t *testing.T) {
	next, ok := trigger.NewIntervalSchedule(24*time.Hour, at("2026-05-01T06:00:00Z")).Next(at("2826-05-01T12:00:00Z"))
	if want := at("2826-05-02T06:00:00Z"); !ok || !next.At.Equal(want) {
		t.Errorf("it is due at %s, not at %s", next.At, want)
	}
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
