package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/chaos/attack"
)

// hostileRound is one gateway within a limit of memory, honest tenants, and a hostile one.
type hostileRound struct {
	*stage
	how      hostileOptions
	gateway  *gateway
	guard    *guard
	attacker *attack.Tenant
	calls    *honestCalls
	figures  hostileFigures
}

// hostileFigures is what is measured once.
type hostileFigures struct {
	answers  map[bool][]time.Duration // of honest calls; true beside the hostile tenant
	runs     map[bool][]time.Duration // until they completed
	phases   map[string]*phaseFigures // the same by what the hostile tenant did
	leaving  time.Duration            // from SIGTERM to the end
	starting time.Duration            // until the gateway was ready after that
}

func runHostile(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := readHostileOptions(args, stderr)
	if err != nil {
		return err
	}
	account, err := misuse(ctx, o)
	if err != nil {
		return err
	}
	if err := account.print(stdout); err != nil {
		return err
	}
	return account.err()
}

// misuse is a whole round.
func misuse(ctx context.Context, o hostileOptions) (account, error) {
	h, err := setHostileStage(ctx, o)
	if err != nil {
		return account{}, err
	}
	keeping, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		h.close()
	}()
	h.stopKeep = stop
	var watching sync.WaitGroup
	watching.Go(func() { h.guard.keepUp(keeping) })
	h.tell("seed %d: %s, %s, %d attacks, %d honest calls a second, %s", o.seed, o.store, bytesText(o.memory), len(o.attacks), o.perSecond, o.length)

	alone := min(max(o.length/6, 4*time.Second), time.Minute)
	h.guard.enter("alone")
	h.honest(ctx, alone, false)
	pause(ctx, betweenPhases)
	attacking, calm := context.WithCancel(ctx)
	defer calm()
	var attacks sync.WaitGroup
	attacks.Go(func() { h.attack(attacking, o.length-alone) })
	h.honest(ctx, o.length-alone, true)
	h.leave()
	watching.Wait()
	calm()
	attacks.Wait()
	if err := h.comeBack(ctx, keeping); err != nil {
		return account{}, err
	}
	h.auditHonest(ctx)
	return h.ledger(), ctx.Err()
}

// betweenPhases lets the last runs end that are measured without the hostile tenant.
const betweenPhases = 2 * time.Second

// setHostileStage starts everything.
func setHostileStage(ctx context.Context, o hostileOptions) (h *hostileRound, err error) {
	s := &stage{options: o.options, began: time.Now(), found: newFindings(), random: newDice(o.seed)}
	h = &hostileRound{stage: s, how: o, calls: new(honestCalls)}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if s.dir, err = s.folder(); err != nil {
		return nil, err
	}
	binary := o.binary
	if binary == "" {
		s.tell("building the gateway")
		if binary, err = build(ctx, s.dir); err != nil {
			return nil, err
		}
	}
	if s.database, err = openStore(ctx, o.store, s.dir); err != nil {
		return nil, err
	}
	s.receiver, s.listener = newReceiver(newDice(o.seed+1), s.found), newListener(newDice(o.seed+2), s.found)
	s.receiver.calm = true
	if err = s.serve(attack.NewServer()); err != nil {
		return nil, err
	}
	s.shapes = honestShapes(s.callsTo + "/calls")
	if err = h.startGateway(ctx, binary); err != nil {
		return nil, err
	}
	return h, h.newTenants(ctx)
}

// openStore prepares an empty database.
func openStore(ctx context.Context, store, dir string) (*database, error) {
	if store == "postgres" {
		return startDatabase(ctx)
	}
	return &database{url: "sqlite:" + filepath.Join(dir, "sluice.db")}, nil
}

// startGateway starts the process, which is told of nine tenths of what it may take at
// most: the collector's aim is not the whole of a process.
func (h *hostileRound) startGateway(ctx context.Context, binary string) error {
	g, err := newGateway("gateway", binary, h.database.url, h.dir,
		"SLUICE_MEMORY="+strconv.FormatInt(h.how.memory>>20, 10)+"MiB", "GOMEMLIMIT="+strconv.FormatInt(h.how.memory/10*9, 10))
	if err != nil {
		return err
	}
	h.gateway, h.gateways = g, []*gateway{g}
	h.guard = &guard{gateway: g, limit: h.how.memory, found: h.found}
	h.clients = newClients(h.gateways, h.found, newDice(h.seed+3))
	if err := g.start(); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, ended := g.process(); !g.awaitReady(starting, ended) {
		return fmt.Errorf("the gateway did not start: %s", g.lastWords())
	}
	return nil
}

func (h *hostileRound) newTenants(ctx context.Context) error {
	for i := range h.tenants {
		t, err := h.newLodger(ctx, fmt.Sprintf("honest%d", i))
		if err != nil {
			return err
		}
		h.lodgers = append(h.lodgers, t)
	}
	text, err := h.gateway.command(ctx, "tenant", "create", "--name", "hostile", "--json")
	if err != nil {
		return err
	}
	var made struct{ TenantID, SecretKey string }
	if err := json.Unmarshal(text, &made); err != nil {
		return err
	}
	if _, err := h.gateway.command(ctx, "tenant", "update", made.TenantID, "--secret-per-minute", strconv.Itoa(h.how.perMinute)); err != nil {
		return err
	}
	h.attacker = attack.NewTenant(h.gateway.url, made.SecretKey, h.callsTo+"/hostile", h.how.size)
	return nil
}

// attack makes every attack in turn, and then all of them together.
func (h *hostileRound) attack(ctx context.Context, length time.Duration) {
	turn := length * 6 / 10 / time.Duration(len(h.how.attacks))
	if len(h.how.attacks) == 1 {
		turn = length
	}
	for _, a := range h.how.attacks {
		if ctx.Err() != nil {
			return
		}
		h.tell("%s: %s", a.Name, a.About)
		h.guard.enter(a.Name)
		attacking, stop := context.WithTimeout(ctx, turn)
		a.Run(attacking, h.attacker)
		stop()
	}
	if len(h.how.attacks) > 1 && ctx.Err() == nil {
		h.tell("all attacks together")
		h.guard.enter("all together")
		attack.Together(ctx, h.attacker, h.how.attacks)
	}
}

// mostLeaving is how long the process may take to end: requests may take 30 s to finish by
// default, and their answers 2 s more.
const mostLeaving = 32 * time.Second

// leave asks the process to end while it is still attacked.
func (h *hostileRound) leave() {
	h.tell("SIGTERM")
	h.guard.enter("SIGTERM")
	h.guard.expectEnd(true)
	took, code := h.gateway.terminate(mostLeaving)
	h.figures.leaving = took
	h.found.check(code == 0, leavesInTime, "it ended %s after SIGTERM with exit code %d, not within %s with 0", took.Round(time.Millisecond), code, mostLeaving)
}

// Bounds of a start with much to do, and how long the process is watched after it.
const (
	mostStarting = 10 * time.Second
	staysFor     = 8 * time.Second
)

// comeBack starts the process again and waits until the honest tenants' runs are over,
// while what is left of the hostile ones goes on.
func (h *hostileRound) comeBack(ctx, keeping context.Context) error {
	h.tell("starting it again")
	h.guard.enter("start with what is left")
	h.guard.expectEnd(false)
	began := time.Now()
	if err := h.gateway.start(); err != nil {
		return err
	}
	h.keeping.Go(func() { h.guard.keepUp(keeping) })
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for ready := false; !ready && starting.Err() == nil; {
		_, ended := h.gateway.process()
		ready = h.gateway.awaitReady(starting, ended)
	}
	h.figures.starting = time.Since(began)
	h.found.check(h.figures.starting <= mostStarting, startsAgain, "it was ready after %s, not within %s", h.figures.starting.Round(time.Millisecond), mostStarting)
	pause(ctx, staysFor)
	h.awaitHonest(ctx)
	return nil
}

// awaitHonest waits until every acknowledged run is over and was told of, or as long as
// that may take.
func (h *hostileRound) awaitHonest(ctx context.Context) {
	want := h.calls.acknowledged()
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < h.settle; pause(ctx, time.Second) {
		open := len(want) - len(h.listener.books())
		for _, t := range h.lodgers {
			for _, status := range []string{"pending", "running", "paused"} {
				var page struct{ Total int }
				got, ok := h.clients.until(ctx, request{key: t.key, method: http.MethodGet, path: "/runs?limit=1&status=" + status})
				if !ok || !got.read(&page) {
					return
				}
				open += max(0, page.Total)
			}
		}
		if open <= 0 {
			return
		}
		h.tell("%d honest runs are not over or not told", open)
	}
}
