package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// longestLook bounds the sleep of an idle worker, so that a run whose word was lost is
	// found all the same.
	longestLook = time.Second

	// betweenClaims is the least time between two looks at the queue for the same reason:
	// there was word, or a place was given up. Many words become one then, and many places.
	// Between words it doubles up to betweenVainClaims while nothing comes of them: others
	// are faster, or tenants have as many places as they get.
	betweenClaims     = 4 * time.Millisecond
	betweenVainClaims = 32 * time.Millisecond

	// gathering is how long a place that was given up waits for others, since what is
	// recorded together gives its places up together.
	gathering = time.Millisecond

	// atOnce is how many runs are claimed in one unit. While a crowd and others are beside
	// each other it is atOnceBeside, so that word does not wait long for the end of a claim,
	// and when there is word atOnceTold: those who have little come first, and need not wait
	// until a crowd's are lent as well.
	atOnce       = 64
	atOnceBeside = 16
	atOnceTold   = few

	// firstBlocked and lastBlocked bound the pause while what is due cannot be claimed: its
	// tenant has as many places as it gets, or somebody is changing it.
	firstBlocked = 50 * time.Millisecond
	lastBlocked  = time.Second

	// afterFailure is the least time before the store is asked again after it failed.
	afterFailure = 250 * time.Millisecond

	// recalibrated is how old a reading of the database's clock may be.
	recalibrated = time.Minute
)

// databaseClock tells the time of the database.
type databaseClock struct {
	mu    sync.Mutex
	read  time.Time // by the database
	local time.Time // of the reading, monotonic; zero before the first
}

func (c *databaseClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.local = now, time.Now()
}

// now is the time of the database; ok is false when it has to be read again.
func (c *databaseClock) now() (now time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.local)
	return c.read.Add(passed), !c.local.IsZero() && passed < recalibrated
}

// claimer decides when to claim.
type claimer struct {
	session *shift
	more    bool          // a place that is given up can be filled at once
	gap     time.Duration // the least time between two words that are looked after
	blocked time.Duration // the last pause because of runs that could not be claimed
	told    bool          // it looks because of word, and not because time has passed
	looked  time.Time     // when it last claimed, or asked whether there is something to claim
	heeded  time.Time     // when it last did so because of word
}

// vain notes whether a look at the queue was in vain.
func (c *claimer) vain(was bool) {
	c.looked = time.Now()
	if c.told {
		c.heeded = c.looked
	}
	if was {
		c.gap = min(2*c.gap, betweenVainClaims)
	} else {
		c.gap = betweenClaims
	}
}

// claimRuns fills the places with runs that are due until the worker is to stop.
func (s *shift) claimRuns() {
	c := &claimer{session: s, gap: betweenClaims}
	for claim := true; s.leaving.Err() == nil; {
		free := s.room()
		if free.places == 0 {
			c.more = true // whatever took the last place
			claim = c.pause(longestLook, false)
			continue
		}
		// Lest this very process takes over what it is working on. A run that somebody else
		// keeps locked cannot be claimed, and is no reason not to claim others.
		if doubtful, renewed := s.untrusted(); len(doubtful) > 0 && s.renew(doubtful) == notRenewed {
			s.awaitRenewal(renewed)
			continue
		}
		var wait time.Duration
		if wait, claim = c.step(free, claim); wait > 0 {
			claim = c.pause(wait, claim)
		}
	}
}

// step claims, where claim does not say so only if something is due, and says for how
// long there is nothing to do and whether to claim without looking after that.
func (c *claimer) step(free room, claim bool) (wait time.Duration, again bool) {
	if !claim {
		next, err := c.next()
		switch {
		case err != nil:
			c.fail(err)
			return longestLook, false
		case next > 0:
			c.more, c.blocked = false, 0
			c.vain(c.told)
			return min(next, longestLook), next <= longestLook
		}
	}
	most := min(c.most(), free.places)
	n, err := c.claim(most, free)
	if err != nil {
		c.fail(err)
		return longestLook, true
	}
	c.vain(n == 0 && c.told)
	switch {
	case n == most:
		c.more, c.blocked, c.told = true, 0, false // those who had word are lent
		return 0, true
	case n > 0 && len(c.session.word) > 0: // it is claimed again in any case
		c.blocked = 0
		return longestLook, false
	case n > 0 && c.more: // as before, there are others that have to wait for places
		c.blocked = firstBlocked
		return firstBlocked, false
	}
	c.more = false
	return c.after(n)
}

// most is how many runs to claim in one unit.
func (c *claimer) most() int {
	switch {
	case !c.session.beside.both():
		return atOnce
	case c.told:
		return atOnceTold
	default:
		return atOnceBeside
	}
}

// after says how long to sleep when everything that could be claimed was.
func (c *claimer) after(claimed int) (wait time.Duration, again bool) {
	if claimed > 0 {
		c.blocked = 0
	}
	next, err := c.next()
	switch {
	case err != nil:
		c.fail(err)
		return longestLook, false
	case next > 0:
		c.blocked = 0
		return min(next, longestLook), next <= longestLook
	}
	c.more = true
	c.blocked = min(max(2*c.blocked, firstBlocked), lastBlocked)
	return c.blocked, true
}

// fail reports that the store did not answer, and leaves it alone for a while, whatever
// is said meanwhile.
func (c *claimer) fail(err error) {
	if c.session.leaving.Err() == nil {
		c.session.report(err)
	}
	rest(c.session.leaving, afterFailure)
}

// pause sleeps, at most for a time, until there is something to do, and says whether to
// claim without looking first. Word waits for nothing but the word before it.
func (c *claimer) pause(most time.Duration, claim bool) (again bool) {
	at := time.Now().Add(most)
	if soonest := c.looked.Add(betweenClaims); at.Before(soonest) {
		at = soonest
	}
	again, c.told = claim, false
	timer, freed := time.NewTimer(time.Until(at)), false
	defer timer.Stop()
	for {
		select {
		case <-c.session.leaving.Done():
			return false
		case <-timer.C:
			return again
		case <-c.session.word:
			c.told, again = true, freed || c.gap == betweenClaims // else look first: a look is cheaper
			at = sooner(at, c.heeded.Add(c.gap))
		case <-c.session.freed:
			if c.more {
				freed, again = true, true
				at = sooner(at, later(time.Now().Add(gathering), c.looked.Add(betweenClaims)))
			}
		}
		timer.Reset(time.Until(at))
	}
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// next says how long it takes until a run is free; longer than longestLook for never.
func (c *claimer) next() (time.Duration, error) {
	ctx, cancel := context.WithTimeout(c.session.claims, patience)
	defer cancel()
	var at time.Time
	var ok bool
	err := c.session.contained("look for runs", func() error {
		return c.session.worker.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			if _, known := c.session.clock.now(); !known {
				now, err := st.Runs.Queue.Now(ctx)
				if err != nil {
					return err
				}
				c.session.clock.set(now)
			}
			at, ok, err = st.Runs.Queue.Next(ctx)
			return err
		})
	})
	now, _ := c.session.clock.now()
	if err != nil || !ok {
		return 2 * longestLook, err
	}
	return at.Sub(now), nil
}

// readingFactor is how much memory a run takes while it is read, as a multiple of what is
// stored.
const readingFactor = 2

// claim lends runs, and lets each be worked on.
func (c *claimer) claim(most int, free room) (int, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.session.claims, patience)
	defer cancel()
	var lent []outbound.LentRun
	err := c.session.contained("claim runs", func() error {
		return c.session.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			lent, err = st.Runs.Queue.Claim(ctx, outbound.RunClaim{
				Worker: c.session.worker.opts.Name, Period: c.session.worker.opts.Lease, Limit: most, PerTenant: free.perTenant, Bytes: max(1, free.bytes/readingFactor),
			})
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	if len(lent) > 0 {
		c.session.clock.set(lent[0].At)
	}
	n := 0
	for _, one := range lent {
		if one.Unreadable != nil {
			c.session.report(fmt.Errorf("run %s of %s is put off by %s: %w", one.Lease.Run, one.Lease.Tenant, outbound.UnreadableWait, one.Unreadable))
			continue
		}
		c.session.take(one, began)
		n++
	}
	return n, nil
}

// untrusted returns the runs whose leases' time has passed, and what is closed with the
// next renewal.
func (s *shift) untrusted() (doubtful map[run.ID]*job, renewed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doubtful = make(map[run.ID]*job)
	for id, j := range s.held {
		if !j.trusted() {
			doubtful[id] = j
		}
	}
	return doubtful, s.renewed
}

// awaitRenewal waits for the next renewal of leases, but not for ever.
func (s *shift) awaitRenewal(renewed <-chan struct{}) {
	timer := time.NewTimer(s.worker.opts.Lease)
	defer timer.Stop()
	select {
	case <-renewed:
	case <-timer.C:
	case <-s.leaving.Done():
	}
}
