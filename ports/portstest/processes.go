package portstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/outbound"
)

// LevelStores are an empty store as processes of two levels have it open.
type LevelStores struct {
	Older, Newer outbound.UnitOfWork          // of level 1 and of level 2
	Exec         func(statement string) error // runs a statement of SQL
}

// ProcessRepository is the contract of outbound.ProcessRepository.
func ProcessRepository(t *testing.T, open func(t *testing.T) LevelStores) {
	t.Helper()
	for claim, check := range map[string]func(f processes){
		"a process is alive from its first heartbeat until it leaves": func(f processes) {
			before := f.dbNow()
			newer, older := process.Process{ID: "b", Version: "0.2.0", Level: 2, Role: "all"}, process.Process{ID: "a", Version: "0.1.0", Level: 1, Role: "worker"}
			f.beat(older, newer)
			first := f.live(older, newer)
			for _, p := range first {
				if p.StartedAt.Before(before) || p.StartedAt.After(f.dbNow()) || !p.SeenAt.Equal(p.StartedAt) || p.SeenAt.Location() != time.UTC {
					f.Errorf("it started at %s and was seen at %s", p.StartedAt, p.SeenAt)
				}
			}
			f.leave("a", "unknown")
			f.live(newer)
		},
		"further heartbeats move the time at which it was seen": func(f processes) {
			p := process.Process{ID: "a", Version: "0.1.0", Level: 1, Role: "all"}
			f.beat(p)
			f.age("a", 20*time.Second)
			before := f.live(p)[0]
			f.beat(p)
			after := f.live(p)[0]
			if !after.StartedAt.Equal(before.StartedAt) || after.SeenAt.Sub(before.SeenAt) < 20*time.Second {
				f.Errorf("%+v became %+v", before, after)
			}
		},
		"one whose heartbeats stop is not alive any more, and comes back with the next": func(f processes) {
			p := process.Process{ID: "a", Version: "0.1.0", Level: 1, Role: "all"}
			f.beat(p)
			f.age("a", process.Lifetime)
			f.live()
			f.beat(p)
			f.live(p)
		},
		"processes that were last seen before a time are swept, some at a time": func(f processes) {
			p := process.Process{ID: "kept", Version: "0.1.0", Level: 1, Role: "all"}
			f.beat(p)
			for _, id := range []process.ID{"a", "b", "c"} {
				f.beat(process.Process{ID: id, Version: "0.1.0", Level: 1, Role: "all"})
				f.age(id, time.Hour)
			}
			for i, want := range []int{2, 1, 0} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Processes.Sweep(ctx, f.dbNow().Add(-time.Minute), 2)
					if n != want {
						f.Errorf("sweep %d removed %d, not %d", i, n, want)
					}
					return err
				})
			}
			f.live(p)
		},
		"a level can be required when all that are alive have it":           required,
		"a heartbeat and a requirement at the same time know of each other": requiredMeanwhile,
		"what is required by a unit that does not commit is not required": func(f processes) {
			f.wantError(f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if err := st.Processes.Require(ctx, 2); err != nil {
					return err
				}
				return domain.Fail(domain.Conflict, "other", "Something else.")
			}), domain.Conflict, "other")
			f.requires(0)
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			check(processes{fixture{t, s.Newer}, s})
		})
	}
}

type processes struct {
	fixture
	stores LevelStores
}

// age lets the last heartbeat of a process be that long ago.
func (f processes) age(id process.ID, by time.Duration) {
	f.Helper()
	seen := f.dbNow().Add(-by).Format("2006-01-02 15:04:05.999-07:00")
	if err := f.stores.Exec(`UPDATE processes SET seen_at = '` + seen + `' WHERE id = '` + string(id) + `'`); err != nil {
		f.Fatal(err)
	}
}

func (f processes) tryBeat(p process.Process) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Processes.Heartbeat(ctx, p) })
}

func (f processes) beat(all ...process.Process) {
	f.Helper()
	for _, p := range all {
		if err := f.tryBeat(p); err != nil {
			f.Fatal(err)
		}
	}
}

func (f processes) leave(ids ...process.ID) {
	f.Helper()
	for _, id := range ids {
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Processes.Remove(ctx, id) })
	}
}

// live checks which processes are alive.
func (f processes) live(want ...process.Process) (found []process.Seen) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Processes.Alive(ctx)
		return err
	})
	var got []process.Process
	for _, p := range found {
		got = append(got, p.Process)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Fatal(diff)
	}
	return found
}

func (f processes) require(level process.Level) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Processes.Require(ctx, level) })
}

func (f processes) requires(want process.Level) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		got, err := st.Processes.Required(ctx)
		if got != want {
			f.Errorf("level %d is required, not %d", got, want)
		}
		return err
	})
}

func required(f processes) {
	older, newer := process.Process{ID: "a", Version: "0.1.0", Level: 1, Role: "api"}, process.Process{ID: "b", Version: "0.2.0", Level: 2, Role: "worker"}
	f.requires(0)
	f.beat(older, newer)
	f.wantError(f.require(2), domain.Unavailable, "upgrade_in_progress")
	f.requires(0)
	if err := f.require(1); err != nil {
		f.Fatal(err)
	}
	f.requires(1)
	f.beat(older, newer)
	f.age("a", process.Lifetime) // it hangs
	for range 2 {
		if err := f.require(2); err != nil {
			f.Fatal(err)
		}
	}
	if err := f.require(1); err != nil {
		f.Fatal(err)
	}
	f.requires(2)
	f.wantError(f.tryBeat(older), domain.Conflict, "process_outdated")
	f.wantError(f.tryBeat(process.Process{ID: "c", Version: "0.1.0", Level: 1, Role: "all"}), domain.Conflict, "process_outdated")
	f.live(newer)
}

// requiredMeanwhile lets an old process start while its level is about to be too low: either
// it starts, or the higher level is required.
func requiredMeanwhile(f processes) {
	for level := process.Level(1); level < 20; level++ {
		older := process.Process{ID: "a", Version: "0.1.0", Level: level - 1, Role: "all"}
		var beat, require error
		var both sync.WaitGroup
		both.Go(func() { beat = f.tryBeat(older) })
		both.Go(func() { require = f.require(level) })
		both.Wait()
		if (beat == nil) == (require == nil) {
			f.Fatalf("level %d: a heartbeat below it: %v; requiring it: %v", level, beat, require)
		}
		f.leave("a")
		if err := f.require(level); err != nil {
			f.Fatal(err)
		}
	}
}
