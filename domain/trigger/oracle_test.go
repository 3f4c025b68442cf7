package trigger_test

import (
	"strings"
	"testing"
	"time"

	robfig "github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

// In zones whose clocks never change the schedule agrees with robfig/cron.
func TestTheScheduleAgreesWithAnotherImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := drawExpression(t)
		name := rapid.SampledFrom([]string{"UTC", "Asia/Kolkata", "Etc/GMT+11", "Asia/Tokyo"}).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		oracle, err := robfig.ParseStandard("CRON_TZ=" + name + " " + expr)
		if err != nil {
			t.Fatal(err)
		}
		after := time.Unix(rapid.Int64Range(1_500_000_000, 3_000_000_000).Draw(t, "after"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		c, err := trigger.ParseCron(expr)
		if err != nil {
			if next := oracle.Next(after); !next.IsZero() || !strings.HasPrefix(err.Error(), "never fires") {
				t.Fatalf("%q is refused (%v) and is due at %s", expr, err, next)
			}
			return
		}
		s := trigger.NewCronSchedule(c, zone)
		for range 5 {
			got, ok := s.Next(after)
			if !ok {
				t.Fatalf("%q is never due", expr)
			}
			want := oracle.Next(after)
			if want.IsZero() { // the other implementation looks five years ahead only
				if got.At.Before(after.AddDate(5, 0, -1)) {
					t.Fatalf("%q is due at %s", expr, got.At)
				}
				return
			}
			if !got.At.Equal(want) || got.Shift != trigger.NoShift {
				t.Fatalf("%q in %s after %s is due at %s %s, not at %s", expr, name, after.UTC(), got.At, got.Shift, want.UTC())
			}
			after = got.At
		}
	})
}
