// Package attack holds what a hostile tenant does to a gateway with nothing but its own
// secret key: each attack in a file of its own. Together they try to exhaust the
// gateway's memory and its processors, and to delay other tenants.
package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// Attack is one way to attack a gateway.
type Attack struct {
	Name  string
	About string // what it does, in one line

	// round does it once. What has to be there first is made once for a tenant, see
	// [Tenant.workflow].
	round func(ctx context.Context, t *Tenant) error
}

// All lists every attack.
func All() []Attack {
	return []Attack{answers(), trees(), numbers(), simulations(), events(), filters(), code(), bodies(), versions(), catalogue(), readers(), customNodes(), endpoints(), waits(), families(), types(), hooks()}
}

// Select returns the attacks of the names, separated by commas, all of them for none.
func Select(names string) ([]Attack, error) {
	all := All()
	if names == "" {
		return all, nil
	}
	var chosen []Attack
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(a Attack) bool { return a.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no attack %q, only %s", name, strings.Join(Names(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names lists the attacks.
func Names() (names []string) {
	for _, a := range All() {
		names = append(names, a.Name)
	}
	return names
}

// betweenRounds is how long an attack rests, so that the requests that the tenant has in
// a minute are not spent on one of them.
const betweenRounds = 250 * time.Millisecond

// Run repeats the attack until ctx ends. An error is counted and does not end it: the
// gateway may be gone, or refuse.
func (a Attack) Run(ctx context.Context, t *Tenant) {
	t = t.during(a.Name)
	for ctx.Err() == nil {
		if err := a.round(ctx, t); err != nil && ctx.Err() == nil {
			t.counts.failed(a.Name, err)
		}
		harness.Sleep(ctx, betweenRounds)
	}
}

// Together runs several attacks at the same time until ctx ends.
func Together(ctx context.Context, t *Tenant, attacks []Attack) {
	var running sync.WaitGroup
	for _, a := range attacks {
		running.Go(func() { a.Run(ctx, t) })
	}
	running.Wait()
}

// parallel does something several times at the same time.
func parallel(times int, do func(i int)) {
	var running sync.WaitGroup
	for i := range times {
		running.Go(func() { do(i) })
	}
	running.Wait()
}
