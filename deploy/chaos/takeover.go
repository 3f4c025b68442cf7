package main

import (
	"context"
	"strconv"
	"time"

	"github.com/lib/pq"
)

// mostTakeover is how long the runs of a process that died may stand still: they go on
// within seconds (execution rules, "Promises").
const mostTakeover = 10 * time.Second

// orphan is a run whose process died.
type orphan struct {
	lease int64
	moved bool
}

// watch finds the runs that a killed process had, and sees when each goes on with
// another one.
func (s *stage) watch(ctx context.Context, name string, pid int, killed time.Time) {
	orphans := s.orphans(ctx, pid)
	ids := make([]string, 0, len(orphans))
	for id := range orphans {
		ids = append(ids, id)
	}
	for left := len(orphans); left > 0; {
		took := time.Since(killed)
		err := s.database.each(ctx, func(scan func(...any) error) error {
			var id string
			var lease int64
			var finished bool
			if err := scan(&id, &lease, &finished); err != nil {
				return err
			}
			if o := orphans[id]; !o.moved && (finished || lease != o.lease) {
				o.moved = true
				left--
				s.tookOver(killed, took, finished && lease == o.lease)
			}
			return nil
		}, `SELECT id, lease, finished_at IS NOT NULL FROM runs WHERE id = ANY($1)`, pq.Array(ids))
		switch {
		case err != nil: // the database is away, or was cut off
		case left > 0 && took > s.settle:
			for id, o := range orphans {
				s.found.check(o.moved, takenOver, "run %s of %s, process %d, stands still %s after it was killed", id, name, pid, took.Round(time.Second))
			}
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// tookOver keeps books of a run that goes on. One that a client cancelled was not taken
// over.
func (s *stage) tookOver(killed time.Time, took time.Duration, cancelled bool) {
	if cancelled {
		return
	}
	away := s.database.awayFor(killed, killed.Add(took))
	s.books.note(func() {
		if away > 0 {
			s.books.hindered = append(s.books.hindered, took)
		} else {
			s.books.takeovers = append(s.books.takeovers, took)
		}
	})
	s.found.check(took-away <= mostTakeover, takenOver, "a run of a process killed at %s went on after %s, in which the database was away for %s; frozen meanwhile: %s",
		killed.Sub(s.began).Truncate(time.Second), took.Round(time.Millisecond), away.Round(time.Millisecond), s.books.frozenDuring(killed, killed.Add(took)))
}

// orphans reads which runs a process had, by the name that it gave itself: the machine
// and the process id. The database may be away just now.
func (s *stage) orphans(ctx context.Context, pid int) map[string]*orphan {
	for {
		found := make(map[string]*orphan)
		err := s.database.each(ctx, func(scan func(...any) error) error {
			var id string
			var o orphan
			err := scan(&id, &o.lease)
			found[id] = &o
			return err
		}, `SELECT id, lease FROM runs WHERE worker LIKE $1 AND lease_until IS NOT NULL AND finished_at IS NULL`, "%/"+strconv.Itoa(pid))
		if err == nil || !pause(ctx, 20*time.Millisecond) {
			return found
		}
	}
}
