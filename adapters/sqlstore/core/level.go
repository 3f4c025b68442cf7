package core

import (
	"context"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain/process"
)

// HasLevel adds to the condition on a table that a process of a level may have a row.
func HasLevel(table string, level process.Level) string {
	return " AND " + table + ".needs_level <= " + strconv.Itoa(int(level))
}

const requiredLevel = `SELECT level FROM required_level`

// RequiredLevel reads the level that every process must have.
func (u *Unit) RequiredLevel(ctx context.Context) (level process.Level, err error) {
	err = u.ReadRow(ctx, "get the required level", &level, requiredLevel)
	return level, err
}

// RaiseLevel raises the required level to at least this one, unless processes below it are alive, of which it
// returns the number. It holds the level until the unit ends in either case.
func (u *Unit) RaiseLevel(ctx context.Context, level process.Level) (older int, err error) {
	if required, err := u.RequiredLevel(ctx); err != nil || required >= level {
		return 0, err
	}
	var held process.Level
	if err := u.ReadRow(ctx, "hold the required level", &held, requiredLevel+u.ForUpdate()); err != nil {
		return 0, u.Fail(err)
	}
	var rows []struct {
		Level  process.Level `db:"level"`
		SeenAt time.Time     `db:"seen_at"`
		Now    Instant       `db:"now"`
	}
	if err := u.ReadRows(ctx, "list the levels of processes", &rows, `SELECT level, seen_at, `+u.store.dialect.Clock+` AS now FROM processes`); err != nil {
		return 0, u.Fail(err)
	}
	for _, row := range rows {
		if row.Level < level && (process.Seen{SeenAt: row.SeenAt}).IsLive(row.Now.Time) {
			older++
		}
	}
	if older > 0 {
		return older, nil
	}
	u.raised = true
	_, err = u.Exec(ctx, "raise the required level", `UPDATE required_level SET level = $1 WHERE level < $1`, int(level))
	return 0, err
}
