package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of volleys: how many are under way at the same time, how many calls and bytes
// of payload one has, and how long it may take.
const (
	volleysAtOnce  = 2
	maxVolley      = 128
	volleyDeadline = 30 * time.Second
)

// volleys starts the runs of webhook calls that arrive at the same time in one unit of
// work, so that they share its statements and its commit. Nothing waits for a timer: a
// call that finds few enough under way goes at once; the others wait until one of those
// has ended, and then the first of them goes with the rest.
type volleys struct {
	work    outbound.UnitOfWork
	signals outbound.RunSignals

	mu       sync.Mutex
	waiting  []*fellow
	underWay int
}

// fellow is a call that goes with others.
type fellow struct {
	*shot
	trigger trigger.ID
	verdict chan verdict // receives once

	// Of the last run of the unit:
	hit  outbound.StartedRun     // none when the call is left to a unit of its own
	open *outbound.FiringTrigger // a trigger of whose rate limit it is not known whether it permits the run
}

// verdict tells a call that waits what became of it, or that it is its turn to take the
// volley along that it is the first of.
type verdict struct {
	err    error
	volley []*fellow
}

// call starts the run of one call together with those of others. It is not done, and
// has had no effect, where anything is out of the ordinary: then the call needs a unit of
// its own, which finds out what.
func (v *volleys) call(ctx context.Context, s *shot, id trigger.ID) (fired run.Fired, done bool, err error) {
	if s.once.Wanted() || !s.keyMade {
		// Its outcome is kept, which takes statements of its own; and starting a run under a
		// key that another unit is about to take waits for that one, as only its own caller
		// should.
		return fired, false, nil
	}
	f := &fellow{shot: s, trigger: id, verdict: make(chan verdict, 1)}
	if err := v.join(ctx, f); err != nil {
		return fired, false, err
	}
	if f.open != nil { // the trigger has a rate limit, which is asked between two units
		if err := s.measure(ctx, []outbound.FiringTrigger{*f.open}); err != nil {
			return fired, false, err
		}
		if refused := s.refused[id]; refused != nil {
			return fired, false, refused
		}
		if err := v.join(ctx, f); err != nil {
			return fired, false, err
		}
	}
	if f.hit.ID == "" {
		return fired, false, nil
	}
	return run.Fired{Trigger: id, DedupeKey: s.key, Run: f.hit.ID}, true, nil
}

// join has the call go with the next volley.
func (v *volleys) join(ctx context.Context, f *fellow) error {
	volley := v.enter(f)
	if volley == nil {
		told, err := v.await(ctx, f)
		if err != nil || told.volley == nil {
			return cmp.Or(err, told.err)
		}
		volley = told.volley
	}
	return v.fire(ctx, volley)
}

// await waits for the verdict, unless the client goes before the call is under way.
func (v *volleys) await(ctx context.Context, f *fellow) (verdict, error) {
	select {
	case told := <-f.verdict:
		return told, nil
	case <-ctx.Done():
		if v.leave(f) {
			return verdict{}, ctx.Err()
		}
		return <-f.verdict, nil
	}
}

// leave takes a call out of those that wait; false when it does not wait any more.
func (v *volleys) leave(f *fellow) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.Index(v.waiting, f)
	if i < 0 {
		return false
	}
	v.waiting = slices.Delete(v.waiting, i, i+1)
	return true
}

// enter lets the call wait, or returns the volley that it goes with at once.
func (v *volleys) enter(f *fellow) []*fellow {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.underWay < volleysAtOnce { // then nobody waits: handOver leaves nobody behind
		v.underWay++
		return []*fellow{f}
	}
	v.waiting = append(v.waiting, f)
	return nil
}

// handOver gives the first of those who wait the turn, with as many behind it as fit.
func (v *volleys) handOver() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.waiting) == 0 {
		v.waiting = nil
		v.underWay--
		return
	}
	n, payload := 1, len(v.waiting[0].call.Payload())
	for n < min(len(v.waiting), maxVolley) && payload < maxPayload {
		payload += len(v.waiting[n].call.Payload())
		n++
	}
	volley := v.waiting[:n:n]
	v.waiting = v.waiting[n:]
	volley[0].verdict <- verdict{volley: volley}
}

// fire starts the runs for the first of the calls, hands over to the next volley, and
// tells the others. That the first client has gone does not hold the others up.
func (v *volleys) fire(ctx context.Context, volley []*fellow) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), volleyDeadline)
	defer cancel()
	err := errVolleyLost
	defer func() {
		v.handOver()
		for _, other := range volley[1:] {
			other.verdict <- verdict{err: err}
		}
	}()
	err = v.start(ctx, volley)
	return err
}

// errVolleyLost is what the others learn should the one who took them along panic.
var errVolleyLost = errors.New("the calls that went with another one were lost with it")

// start starts the runs in one unit. An error says that it is not known what became of
// them; whatever else goes wrong leaves each call to a unit of its own.
func (v *volleys) start(ctx context.Context, volley []*fellow) error {
	err := v.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return startTogether(ctx, st, volley)
	})
	if err == nil {
		var started []run.ID
		for _, f := range volley {
			if f.hit.Added {
				started = append(started, f.hit.ID)
			}
		}
		v.signals.Tell(started...)
		return nil
	}
	for _, f := range volley {
		f.hit, f.open = outbound.StartedRun{}, nil
	}
	if domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// startTogether starts the runs of the calls whose triggers can fire.
func startTogether(ctx context.Context, st outbound.Stores, volley []*fellow) error {
	aims, err := aimsOf(ctx, st, volley)
	if err != nil {
		return err
	}
	var fit []*fellow
	var wanted []*run.Run
	for _, f := range volley {
		f.hit, f.open = outbound.StartedRun{}, nil
		aim, known := aims[outbound.TriggerKey{Tenant: f.who.Tenant, Trigger: f.trigger}]
		if !known || f.refuse(aim, f.shot.call) != nil {
			continue
		}
		if _, limited := aim.Trigger.Config().RateLimit(); limited && !f.granted[f.trigger] {
			f.open = &aim
			continue
		}
		fit, wanted = append(fit, f), append(wanted, f.aimed(aim))
	}
	if len(wanted) == 0 {
		return nil
	}
	became, err := st.Runs.Runs.Start(ctx, wanted...)
	if err != nil {
		return err
	}
	for i, f := range fit {
		f.hit = became[i]
	}
	return nil
}

// aimsOf reads the triggers of the calls, each once; those that are gone are left out.
func aimsOf(ctx context.Context, st outbound.Stores, volley []*fellow) (map[outbound.TriggerKey]outbound.FiringTrigger, error) {
	aims := make(map[outbound.TriggerKey]outbound.FiringTrigger, len(volley))
	var named []outbound.TriggerKey
	for _, f := range volley {
		key := outbound.TriggerKey{Tenant: f.who.Tenant, Trigger: f.trigger}
		if _, asked := aims[key]; !asked {
			aims[key] = outbound.FiringTrigger{}
			named = append(named, key)
		}
	}
	found, err := st.Firing.Each(ctx, named)
	if err != nil {
		return nil, err
	}
	for i, aim := range found {
		if aims[named[i]] = aim; aim.Trigger == nil {
			delete(aims, named[i])
		}
	}
	return aims, nil
}
