package exchange

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
)

func TestTimesOfRequestsAreThoseOfRFC3339(t *testing.T) {
	nine := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31T09:00:00Z": nine, "2026-01-31T09:00:00.000Z": nine, "2026-01-31T10:00:00+01:00": nine,
		"2026-01-31T10:00:00+0100": {}, "2026-01-31T10:00:00+01": {}, "2026-01-31T09:00:00": {}, "2026-01-31": {}, "1769850000000": {}, "1769850000": {}, "": {},
	} {
		var r domain.Rules
		at, ok := ReadTime(text, "from", &r)
		if ok != !want.IsZero() || ok != (len(r.Violations()) == 0) || ok && !at.Equal(want) {
			t.Errorf("%q is read as %v, %v, %v", text, at, ok, r.Violations())
		}
	}
}
