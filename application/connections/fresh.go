package connections

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain/connection"
)

const (
	// maxFresh is how many tokens a process keeps.
	maxFresh = 10_000

	// maxFreshFor is how long a token is used without a look at the store: somebody may have consented
	// with another account meanwhile, by another process.
	maxFreshFor = time.Minute
)

// freshTokens are tokens that need no look at the store. The zero value is ready.
type freshTokens struct {
	mu  sync.Mutex
	all map[flightKey]freshToken
}

type freshToken struct {
	token connection.Text
	until time.Time
}

// get returns a token that is fresh.
func (f *freshTokens) get(key flightKey, now time.Time) (connection.Text, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.all[key]
	if !ok || !now.Before(t.until) {
		return connection.Text{}, false
	}
	return t.token, true
}

// put keeps the token of a grant until it is due to be renewed.
func (f *freshTokens) put(key flightKey, seen sight, now time.Time) {
	key.refused = ""
	left := maxFreshFor
	if due := seen.grant.RefreshAt(); due != nil {
		left = min(left, due.Sub(seen.now))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if left <= 0 {
		delete(f.all, key)
		return
	}
	if f.all == nil || len(f.all) >= maxFresh { // all of them are read again within a minute anyway
		f.all = make(map[flightKey]freshToken)
	}
	f.all[key] = freshToken{seen.grant.Access(), now.Add(left)}
}
