package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Levels is the contract of all repositories that let processes claim: a row that needs a
// level is claimed by processes that have it, and is as good as absent for the others.
func Levels(t *testing.T, open func(t *testing.T) LevelStores) {
	t.Helper()
	for claim, check := range map[string]func(f levels){
		"a schedule whose version needs a level is claimed by who has it":        scheduleLevels,
		"schedules that need a level keep no others from being claimed in turns": scheduleLevelTurns,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			check(levels{older: fixture{t, s.Older}, newer: fixture{t, s.Newer}, stores: s})
		})
	}
}

// levels are the processes of two levels.
type levels struct {
	older, newer fixture
	stores       LevelStores
}

// exec runs a statement of SQL.
func (l levels) exec(statement string) {
	l.newer.Helper()
	if err := l.stores.Exec(statement); err != nil {
		l.newer.Fatal(err)
	}
}

// needing stores the active version of a new workflow, which needs a level.
func (l levels) needing(owner tenant.ID, level process.Level) *workflow.Version {
	l.newer.Helper()
	f, ver := l.newer, l.newer.version(l.newer.workflow(owner, "team"))
	f.write(func(ctx context.Context, st outbound.Stores) error {
		stored, err := st.Versions.Get(ctx, tenant.All(owner), ver.ID())
		if err != nil {
			return err
		}
		state := stored.State()
		state.Active, state.PublishedAt, state.Level = true, &activated, level
		ver = workflow.RestoreVersion(state)
		return st.Versions.Update(ctx, ver)
	})
	return ver
}

// scheduled stores a schedule of a version that needs a level. It is due a time after noon.
func (l levels) scheduled(owner tenant.ID, level process.Level, after time.Duration) *trigger.Trigger {
	l.newer.Helper()
	trg := l.newer.attach(l.needing(owner, level))
	l.newer.advance(look(trg, noon, noon.Add(after)))
	return trg
}

func scheduleLevels(l levels) {
	hour := noon.Add(time.Hour)
	owner := l.newer.tenant().ID()
	newer, plain := l.scheduled(owner, 2, 0), l.scheduled(owner, 0, time.Minute)
	both, all := l.scheduled(l.newer.tenant().ID(), 1, 2*time.Minute), []string(nil)
	for _, trg := range []*trigger.Trigger{newer, plain, both} {
		all = append(all, line(trg.ID(), noon))
	}
	l.older.next(noon.Add(time.Minute))
	l.newer.next(noon)
	for what, got := range map[string][]string{"all": l.older.due(hour, 9), "as many as there are": l.older.due(hour, 2)} {
		if diff := cmp.Diff(all[1:], got); diff != "" {
			l.older.Errorf("%s: %s", what, diff)
		}
	}
	if diff := cmp.Diff(all, l.newer.due(hour, 9)); diff != "" {
		l.newer.Error(diff)
	}
	dueOf := func(f fixture) (found []string) {
		f.write(func(ctx context.Context, st outbound.Stores) error {
			due, err := st.Schedules.DueOf(ctx, hour, []outbound.TriggerKey{outbound.KeyOf(newer), outbound.KeyOf(plain)})
			found = nil
			for _, d := range due {
				found = append(found, line(d.Trigger.ID(), d.DealtWith))
			}
			return err
		})
		return found
	}
	if diff := cmp.Diff([][]string{all[1:2], all[:2]}, [][]string{dueOf(l.older), dueOf(l.newer)}); diff != "" {
		l.newer.Errorf("by their names: %s", diff)
	}
	l.older.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Schedules.PutOff(ctx, hour, hour.Add(time.Hour), outbound.TriggerKey{Scope: tenant.All(owner)})
	})
	l.newer.next(noon)
	l.older.next(noon.Add(2 * time.Minute))
	l.older.advance(look(both, noon, time.Time{}))
	l.older.advance(look(plain, noon, time.Time{}))
	l.older.next(time.Time{})
}

func scheduleLevelTurns(l levels) {
	var owners []tenant.ID
	for range 3 {
		owner := l.newer.tenant().ID()
		owners = append(owners, owner)
		for range 3 {
			l.scheduled(owner, 2, 0)
		}
	}
	for range 2 {
		l.scheduled(owners[1], 0, time.Minute)
		l.scheduled(owners[2], 0, time.Minute)
	}
	for i, want := range []map[tenant.ID]int{{owners[1]: 1, owners[2]: 1}, {owners[1]: 1, owners[2]: 1}, {}} {
		if diff := cmp.Diff(want, l.older.served(noon.Add(time.Hour), 2)); diff != "" {
			l.older.Errorf("unit %d: %s", i, diff)
		}
	}
	if got := l.newer.served(noon.Add(time.Hour), 9); len(got) != 3 {
		l.newer.Errorf("served were %v", got)
	}
}
