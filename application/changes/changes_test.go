package changes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/application/changes"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const owner = tenant.ID("tenant_1")

// feed reports what it is told to, as a store does.
type feed struct {
	mu        sync.Mutex
	followers map[int]func([]change.Change)
	ever      int
}

var _ outbound.ListChanges = (*feed)(nil)

func (f *feed) FollowLists(_ tenant.ID, onChange func([]change.Change)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ever++
	place := f.ever
	if f.followers == nil {
		f.followers = make(map[int]func([]change.Change))
	}
	f.followers[place] = onChange
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.followers, place)
	}
}

func (f *feed) report(all ...change.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, onChange := range f.followers {
		onChange(all)
	}
}

func (f *feed) followed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.followers)
}

// names are epochs.
type names struct {
	outbound.Random
	made int
}

func (n *names) ID(prefix string) string {
	n.made++
	return fmt.Sprint(prefix, n.made)
}

type env struct {
	*testing.T
	feed    feed
	memory  *budget.Budget
	service *changes.Service
}

// inEnv runs a test on a virtual clock. In the end nobody follows, and nothing is held.
func inEnv(t *testing.T, memory int64, test func(e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &env{T: t, memory: budget.New(memory)}
		e.service = changes.New(&e.feed, e.memory, &names{})
		test(e)
		time.Sleep(61 * time.Second)
		if n := e.feed.followed(); n != 0 || e.memory.Used() != 0 {
			t.Errorf("%d follow after the end, and %d bytes are held", n, e.memory.Used())
		}
	})
}

// follower hears what changes, each call as a line.
type follower struct {
	mu    sync.Mutex
	lines []string
	stop  func() error
}

func (e *env) follow(scope tenant.Scope, after string) *follower {
	f := &follower{}
	ctx, cancel := context.WithCancel(e.Context())
	ended := make(chan error, 1)
	who := tenant.Caller{Scope: scope, KeyType: tenant.Secret}
	go func() { ended <- e.service.Follow(ctx, who, after, f.send) }()
	f.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	synctest.Wait()
	return f
}

func (f *follower) send(events []inbound.ListEvent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var words []string
	for _, ev := range events {
		word := ev.ID
		if c := ev.Change; c.Kind != "" {
			word += " " + strings.TrimSpace(fmt.Sprint(c.Operation, " ", c.Kind, " ", c.ID, " ", c.Node))
		}
		words = append(words, word)
	}
	f.lines = append(f.lines, strings.Join(words, ", "))
	return nil
}

// heard returns what was sent since it was last called.
func (f *follower) heard() (lines []string) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, f.lines = f.lines, nil
	return lines
}

func (e *env) hears(what string, f *follower, want ...string) {
	e.Helper()
	if diff := cmp.Diff(want, f.heard()); diff != "" {
		e.Errorf("%s: %s", what, diff)
	}
}

func (e *env) ends(all ...*follower) {
	e.Helper()
	for _, f := range all {
		if err := f.stop(); !errors.Is(err, context.Canceled) {
			e.Errorf("it ended with %v", err)
		}
	}
}

func of(sub tenant.SubTenantID, id string, op change.Operation) change.Change {
	return change.Change{Tenant: owner, SubTenant: sub, Kind: change.Run, Operation: op, ID: id}
}

func TestAFollowerReadsListsAndThenHearsWhatChanges(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		f := e.follow(tenant.All(owner), "")
		e.hears("at first", f, "lst1-0")
		time.Sleep(time.Second)
		e.feed.report(of("", "a", change.Created))
		e.hears("a change, at once", f, "lst1-1 created run a")
		e.feed.report(of("", "a", change.Changed), of("", "b", change.Created), of("", "a", change.Changed), of("", "b", change.Changed))
		e.hears("others, shortly after", f)
		time.Sleep(time.Second)
		e.hears("and then together", f, "lst1-4 changed run a, lst1-5 created run b")
		e.feed.report(change.Change{Tenant: owner, Kind: change.Pause, ID: "a", Node: "x", Operation: change.Created}, change.Change{Tenant: owner, Kind: change.Pause, ID: "a", Node: "y", Operation: change.Created})
		e.hears("pauses of one run", f, "lst1-6 created pause a x, lst1-7 created pause a y")
		time.Sleep(time.Second)
		e.feed.report(change.Change{Tenant: owner}, of("", "c", change.Created))
		e.hears("too much to be named", f, "lst1-9")
		time.Sleep(time.Second)
		e.feed.report()
		e.hears("some may be lost", f, "lst1-10")
		e.ends(f)
	})
}

func TestWhoComesBackMissesNothing(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		f := e.follow(tenant.All(owner), "")
		e.feed.report(of("", "a", change.Created))
		e.ends(f)
		e.feed.report(of("", "b", change.Created))
		time.Sleep(59 * time.Second)
		back, all := e.follow(tenant.All(owner), "lst1-1"), e.follow(tenant.All(owner), "lst1-2")
		e.hears("behind the first", back, "lst1-2 created run b")
		e.hears("behind the last", all, "")
		for _, id := range []string{"lst1-3", "lst1--1", "lst2-1", "1", "-", "lst1-", "lst1-1x"} {
			other := e.follow(tenant.All(owner), id)
			e.hears("behind "+id, other, "lst1-2")
			e.ends(other)
		}
		e.ends(back, all)
		time.Sleep(61 * time.Second)
		late := e.follow(tenant.All(owner), "lst1-2")
		e.hears("after more than a minute", late, "lst2-0")
		e.ends(late)
	})
}

func TestAScopeHearsNothingOfOthers(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		all, a, none := e.follow(tenant.All(owner), ""), e.follow(tenant.Only(owner, "a"), ""), e.follow(tenant.Only(owner, ""), "")
		for _, f := range []*follower{all, a, none} {
			f.heard()
		}
		time.Sleep(time.Second)
		mixed := of("a", "mixed", change.Created)
		mixed.Mixed = true
		for range 300 { // more than is kept
			e.feed.report(of("b", "b", change.Changed))
		}
		e.feed.report(change.Change{Tenant: owner, SubTenant: "b"}, mixed, of("a", "a", change.Created), change.Change{Tenant: "tenant_2", Kind: change.Run, ID: "foreign"})
		time.Sleep(time.Second)
		e.hears("one sub-tenant", a, "lst2-1 created run a")
		e.hears("none", none)
		e.hears("who comes back", e.back(tenant.Only(owner, "a"), "lst2-0"), "lst2-1 created run a")
		if got := all.heard(); len(got) == 0 {
			e.Error("who reaches everything hears nothing")
		}
		e.ends(all, a, none)
	})
}

// back follows until it has heard something.
func (e *env) back(scope tenant.Scope, after string) *follower {
	f := e.follow(scope, after)
	e.ends(f)
	return f
}

func TestWhoIsTooFarBehindReadsListsAnew(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		f := e.follow(tenant.All(owner), "")
		time.Sleep(time.Second)
		f.heard()
		for i := range 257 {
			e.feed.report(of("", fmt.Sprint(i), change.Created))
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if got := f.heard(); len(got) != 2 || got[0] != "lst1-1 created run 0" || !strings.HasPrefix(got[1], "lst1-2 created run 1, lst1-3") || !strings.HasSuffix(got[1], ", lst1-257 created run 256") {
			e.Errorf("who is 256 behind hears %q", got)
		}
		e.hears("who is further behind", e.back(tenant.All(owner), "lst1-0"), "lst1-257")
		e.ends(f)
	})
}

func TestWithoutMemoryListsAreReadAnew(t *testing.T) {
	inEnv(t, 4096, func(e *env) { // 1 KiB for a tenant
		f := e.follow(tenant.All(owner), "")
		f.heard()
		time.Sleep(time.Second)
		for i := range 40 {
			e.feed.report(of("", fmt.Sprint(i), change.Created))
			if used := e.memory.Used(); used > 1024 {
				e.Fatalf("%d bytes are held", used)
			}
		}
		e.feed.report(of("", strings.Repeat("x", 2000), change.Created))
		time.Sleep(time.Second)
		if got := f.heard(); got[len(got)-1] != "lst1-41" {
			e.Errorf("hears %q", got)
		}
		e.feed.report(of("", "a", change.Created))
		e.hears("when there is room again", f, "lst1-42 created run a")
		e.ends(f)
	})
}

func TestListsAreReadAnewFromTimeToTime(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		f := e.follow(tenant.All(owner), "")
		f.heard()
		time.Sleep(119 * time.Second)
		e.hears("every 15 seconds", f, "", "", "", "", "", "", "")
		time.Sleep(2 * time.Second)
		e.hears("after two minutes", f, "lst1-1")
		for range 130 {
			time.Sleep(time.Second)
			e.feed.report(of("", "a", change.Changed))
		}
		anew := 0
		for _, line := range f.heard() {
			if !strings.Contains(line, " ") {
				anew++
			}
		}
		if anew != 1 {
			e.Errorf("while much happens, %d times", anew)
		}
		e.ends(f)
	})
}

func TestWhoMayNotFollowIsRefused(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		who := tenant.Caller{Scope: tenant.All(owner), KeyType: tenant.Public}
		err := e.service.Follow(t.Context(), who, "", func([]inbound.ListEvent) error { return nil })
		if !errors.Is(err, domain.Forbidden) || e.feed.ever != 0 {
			t.Error(err)
		}
		gone := errors.New("gone")
		err = e.service.Follow(t.Context(), tenant.Operator(owner), "", func([]inbound.ListEvent) error { return gone })
		if !errors.Is(err, gone) {
			t.Error(err)
		}
	})
}

func TestManyFollowWhileMuchChanges(t *testing.T) {
	inEnv(t, 1<<20, func(e *env) {
		var done sync.WaitGroup
		for range 8 {
			done.Go(func() {
				for i := range 50 {
					e.feed.report(of("a", fmt.Sprint(i), change.Changed))
					time.Sleep(time.Millisecond)
				}
			})
			done.Go(func() {
				for range 5 {
					ctx, cancel := context.WithTimeout(e.Context(), 7*time.Millisecond)
					_ = e.service.Follow(ctx, tenant.Caller{Scope: tenant.Only(owner, "a"), KeyType: tenant.Secret}, "", func([]inbound.ListEvent) error { return nil })
					cancel()
				}
			})
		}
		done.Wait()
	})
}
