package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/outbound"
)

type processes struct{ *unit }

var _ outbound.ProcessRepository = processes{}

// Heartbeat adds a process or moves its time. The required level is held, so that it does not
// rise before this unit ends.
func (s processes) Heartbeat(ctx context.Context, p process.Process) error {
	n, err := s.Exec(ctx, "record heartbeat", `WITH clock AS (SELECT `+s.store.dialect.Clock+` AS now)
		INSERT INTO processes (id, version, level, role, started_at, seen_at)
		SELECT $1, $2, CAST($3 AS smallint), $4, clock.now, clock.now FROM required_level r, clock WHERE r.level <= CAST($3 AS smallint)`+s.ForUpdate()+`
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, string(p.ID), p.Version, int(p.Level), p.Role)
	if err != nil || n > 0 {
		return err
	}
	required, err := s.Required(ctx)
	if err != nil {
		return err
	}
	return s.Fail(domain.Fail(domain.Conflict, "process_outdated",
		"The database is in use at feature level %d, and this version has %d. Start the version that was running, or a newer one.", required, p.Level))
}

// Remove removes a process.
func (s processes) Remove(ctx context.Context, id process.ID) error {
	_, err := s.Exec(ctx, "remove process", `DELETE FROM processes WHERE id = $1`, string(id))
	return err
}

type processRow struct {
	ID        string       `db:"id"`
	Version   string       `db:"version"`
	Level     int          `db:"level"`
	Role      string       `db:"role"`
	StartedAt time.Time    `db:"started_at"`
	SeenAt    time.Time    `db:"seen_at"`
	Now       core.Instant `db:"now"`
}

func (row processRow) restore() process.Seen {
	return process.Seen{
		Process:   process.Process{ID: process.ID(row.ID), Version: row.Version, Level: process.Level(row.Level), Role: row.Role},
		StartedAt: row.StartedAt.UTC(), SeenAt: row.SeenAt.UTC(),
	}
}

// Alive lists the processes whose last heartbeat counts.
func (s processes) Alive(ctx context.Context) ([]process.Seen, error) {
	var rows []processRow
	err := s.ReadRows(ctx, "list processes", &rows, `SELECT id, version, level, role, started_at, seen_at, `+s.store.dialect.Clock+` AS now
		FROM processes ORDER BY started_at, id`)
	var live []process.Seen
	for _, row := range rows {
		if seen := row.restore(); seen.IsLive(row.Now.Time) {
			live = append(live, seen)
		}
	}
	return live, err
}

// Required reads the required level.
func (s processes) Required(ctx context.Context) (process.Level, error) { return s.RequiredLevel(ctx) }

// Require holds the level against heartbeats, unless it is high enough.
func (s processes) Require(ctx context.Context, level process.Level) error {
	older, err := s.RaiseLevel(ctx, level)
	if err != nil {
		return err
	}
	if older > 0 {
		e := domain.Fail(domain.Unavailable, "upgrade_in_progress",
			"This needs a version of the gateway that %d of its processes do not have yet. Try again when all of them have been upgraded.", older)
		e.RetryAfter = process.Lifetime
		return s.Fail(e)
	}
	return nil
}

// Sweep removes processes that died.
func (s processes) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep processes", `DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE seen_at < $1 ORDER BY seen_at LIMIT $2)`, before, limit)
	return int(n), err
}
