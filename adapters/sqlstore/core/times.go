package core

import (
	"fmt"
	"time"
)

// TimeFormat is how an instant is written for [Dialect.Rows]: as SQLite's driver keeps it
// (_time_format=sqlite), in UTC, and as PostgreSQL reads it.
const TimeFormat = "2006-01-02 15:04:05.999999999-07:00"

// FormatTime writes a time that may be absent.
func FormatTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := t.UTC().Format(TimeFormat)
	return &text
}

// Instant is an instant that a database computed, which SQLite gives as text.
type Instant struct{ time.Time }

// Scan reads what the driver has.
func (i *Instant) Scan(value any) error {
	switch v := value.(type) {
	case time.Time:
		i.Time = v.UTC()
		return nil
	case string:
		at, err := time.Parse(TimeFormat, v)
		i.Time = at.UTC()
		return err
	default:
		return fmt.Errorf("an instant is kept as %T", value)
	}
}

// InUTC gives an optional instant that a driver read in the session's zone.
func InUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
