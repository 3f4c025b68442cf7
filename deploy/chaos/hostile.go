package main

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/chaos/attack"
	"github.com/sluicehq/sluice/deploy/harness"
)

// hostileRound is one gateway within a limit of memory, honest tenants, and a hostile one.
type hostileRound struct {
	*env
	settings hostileOptions
	gateway  *gateway
	guard    *guard
	plan     attackPlan
	attacked map[string]attack.Count // what came of each attack
	calls    *honestCalls
	figures  hostileFigures
}

// hostileFigures is what is measured once.
type hostileFigures struct {
	answers     map[bool][]time.Duration // of honest calls; true while attacked
	runs        map[bool][]time.Duration // until they completed
	phases      map[string]*phaseFigures // the same by what the hostile tenant did
	stopAt      time.Time                // when SIGTERM was sent
	stopTime    time.Duration            // from then to the end
	interrupted int                      // honest runs that were not over by then
	startTime   time.Duration            // until the gateway was ready after that
}

func runHostile(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := readHostileOptions(args, stderr)
	if err != nil {
		return err
	}
	l, err := runHostileRound(ctx, o)
	if err != nil {
		return err
	}
	return l.report(stdout)
}

// runHostileRound is a whole round.
func runHostileRound(ctx context.Context, o hostileOptions) (ledger, error) {
	h, err := newHostileRound(ctx, o)
	if err != nil {
		return ledger{}, err
	}
	supervising, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		h.close()
	}()
	h.stopSupervising = stop
	var watching sync.WaitGroup
	watching.Go(func() { h.guard.restartOnExit(supervising) })
	h.logf("seed %d: %s, %s, %d attacks, %d honest calls a second, %s", o.seed, o.store, formatBytes(o.memory), len(o.attacks), o.perSecond, o.length)

	alone := min(max(o.length/6, 4*time.Second), time.Minute)
	h.guard.setPhase("alone")
	h.honest(ctx, alone, false)
	harness.Sleep(ctx, betweenPhases)
	attacking, stopAttacks := context.WithCancel(ctx)
	defer stopAttacks()
	var attacks sync.WaitGroup
	attacks.Go(func() { h.attack(attacking, o.length-alone) })
	h.honest(ctx, o.length-alone, true)
	h.terminate()
	watching.Wait()
	stopAttacks()
	attacks.Wait()
	if err := h.restart(ctx, supervising); err != nil {
		return ledger{}, err
	}
	h.auditHonest(ctx)
	return h.newLedger(), ctx.Err()
}

// betweenPhases lets the last runs end that are measured without the hostile tenant.
const betweenPhases = 2 * time.Second

// newHostileRound starts everything.
func newHostileRound(ctx context.Context, o hostileOptions) (h *hostileRound, err error) {
	e, err := prepareEnv(ctx, o.options)
	if err != nil {
		return nil, err
	}
	h = &hostileRound{env: e, settings: o, calls: new(honestCalls)}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if o.store == "postgres" {
		h.database, err = startPostgres(ctx)
	} else {
		h.database = newSQLite(h.dir)
	}
	if err != nil {
		return nil, err
	}
	h.receiver, h.listener = newReceiver(newRandom(o.seed+1), h.found), newListener(newRandom(o.seed+2), h.found)
	h.receiver.reliable = true
	if err = h.serve(); err != nil {
		return nil, err
	}
	h.scenarios = honestScenarios(h.callsTo + "/calls")
	if err = h.startGateway(ctx); err != nil {
		return nil, err
	}
	if err = h.newTenants(ctx, "honest"); err != nil {
		return nil, err
	}
	return h, h.newAttacker(ctx)
}

// startGateway starts the process. Its collector aims at nine tenths of the limit, since
// a process has more memory than the collector counts.
func (h *hostileRound) startGateway(ctx context.Context) error {
	g, err := newGateway("gateway", h.binary, h.database.url, h.dir,
		"SLUICE_MEMORY="+strconv.FormatInt(h.settings.memory>>20, 10)+"MiB", "GOMEMLIMIT="+strconv.FormatInt(h.settings.memory/10*9, 10))
	if err != nil {
		return err
	}
	h.gateway, h.gateways = g, []*gateway{g}
	h.guard = &guard{gateway: g, limit: h.settings.memory, found: h.found}
	h.clients = newClients(h.gateways, h.found, newRandom(h.seed+3))
	return g.StartReady(ctx)
}

// newAttacker makes the hostile tenant and plans what it does.
func (h *hostileRound) newAttacker(ctx context.Context) error {
	made, err := h.gateway.CreateTenant(ctx, "hostile")
	if err != nil {
		return err
	}
	if _, err := h.gateway.Command(ctx, "tenant", "update", made.ID, "--secret-per-minute", strconv.Itoa(h.settings.perMinute)); err != nil {
		return err
	}
	names := make([]string, len(h.settings.attacks))
	for i, a := range h.settings.attacks {
		names[i] = a.Name
	}
	h.plan = attackPlan{
		Gateway: h.gateway.URL, Key: made.SecretKey, Size: h.settings.size, Attacks: strings.Join(names, ","), Together: h.settings.together,
	}
	return nil
}

// stopTimeout is how long the process may take to end: requests may take 30 s to finish by
// default, and their answers 2 s more.
const stopTimeout = 32 * time.Second

// terminate asks the process to end while it is still attacked.
func (h *hostileRound) terminate() {
	h.logf("SIGTERM")
	h.guard.setPhase("SIGTERM")
	h.figures.stopAt = time.Now()
	p := h.gateway.expectEnd()
	took := p.End(syscall.SIGTERM, stopTimeout)
	code := p.ExitCode()
	h.figures.stopTime = took
	h.found.check(code == 0, stopsInTime, "it ended %s after SIGTERM with exit code %d, not within %s with 0", took.Round(time.Millisecond), code, stopTimeout)
}

// Bounds of a start with much to do, and how long the process is watched after it.
const (
	startLimit      = 10 * time.Second
	watchAfterStart = 8 * time.Second
)

// restart starts the process again and waits until the honest tenants' runs are over,
// while what is left of the hostile ones goes on.
func (h *hostileRound) restart(ctx, supervising context.Context) error {
	h.logf("starting it again")
	h.guard.setPhase("start with what is left")
	began := time.Now()
	if err := h.gateway.start(); err != nil {
		return err
	}
	h.supervisors.Go(func() { h.guard.restartOnExit(supervising) })
	starting, cancel := context.WithTimeout(ctx, harness.ReadyTimeout)
	defer cancel()
	for h.gateway.AwaitReady(starting, readyInterval) != nil && harness.Sleep(starting, readyInterval) {
	}
	h.figures.startTime = time.Since(began)
	h.found.check(h.figures.startTime <= startLimit, startsAgain, "it was ready after %s, not within %s", h.figures.startTime.Round(time.Millisecond), startLimit)
	harness.Sleep(ctx, watchAfterStart)
	h.awaitHonest(ctx)
	return nil
}

// awaitHonest waits until every acknowledged run is over and its event delivered, or as long as
// that may take.
func (h *hostileRound) awaitHonest(ctx context.Context) {
	want := h.calls.acknowledged()
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < h.settle; harness.Sleep(ctx, time.Second) {
		open := len(want) - len(h.listener.deliveredEvents())
		for _, t := range h.tenants {
			for _, status := range []string{"pending", "running", "paused"} {
				var page struct{ Total int }
				if h.get(t)(ctx, "/runs?limit=1&status="+status, &page) != nil {
					return
				}
				open += page.Total
			}
		}
		if open <= 0 {
			return
		}
		h.logf("%d honest runs are not over or not told", open)
	}
}
