package connection

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// What holds for every grant.
const (
	// maxEarly is how long before its end an access token is renewed at the earliest.
	maxEarly = 15 * time.Minute

	// CoolDown is for how long no tokens are asked for after a request for them has failed.
	CoolDown = 30 * time.Second

	// RefreshLease is how long whoever asks for tokens has for it. Others wait for that
	// long at most.
	RefreshLease = time.Minute

	// maxIdle is how long a refresh token lies about unused: many servers forget what nobody uses.
	maxIdle = 24 * time.Hour

	// minIdle is how often a refresh token of a short life is renewed at most.
	minIdle = 5 * time.Minute

	// minRefusedAge is how old a token is that is renewed because it was refused: one that
	// has just been issued is refused for another reason.
	minRefusedAge = 30 * time.Second
)

// Grant is what an authorization server has given for a connection, and what is known of asking
// for more. Tokens change by compare-and-swap: every change of them raises [Grant.Generation], and
// what was asked for with the tokens of one generation is kept only while it is the current
// one. Times are by the database's clock. Build one with [NewGrant] or [RestoreGrant].
type Grant struct{ state GrantState }

// GrantState is everything a store keeps of a grant.
type GrantState struct {
	Tenant     tenant.ID
	Connection ID
	Client     string // fingerprint of the client that the tokens are for; empty before the first
	Access     Text   // none before the first, and once consent is missing
	Refresh    Text
	Scopes     []string
	IssuedAt   *time.Time
	ExpiresAt  *time.Time // of the access token; nil when the server does not say
	RenewAt    *time.Time // when it is renewed although nobody uses it; nil for never
	Failure    *TokenFailure
	RetryAt    *time.Time // until when nothing is asked for after a failure
	LeaseEnds  *time.Time // until when somebody asks for tokens
	Generation int64      // counts the changes of the tokens, and their loss
	Revision   int64      // 1 at first; a store raises it with every update and refuses a stale one
}

// NewGrant returns the grant of a connection for which nothing was asked for yet.
func NewGrant(owner tenant.ID, of ID) *Grant {
	return &Grant{GrantState{Tenant: owner, Connection: of, Revision: 1}}
}

// RestoreGrant rebuilds a grant from what a store kept, without applying any rule.
func RestoreGrant(s GrantState) *Grant { return &Grant{s.clone()} }

// State returns what a store has to keep.
func (g *Grant) State() GrantState { return g.state.clone() }

func (s GrantState) clone() GrantState {
	s.Scopes = slices.Clone(s.Scopes)
	return s
}

// Facts are what the audit log says of it: what was given, and not when it is renewed.
func (g *Grant) Facts() domain.Facts {
	return domain.FactsOf(struct {
		Access  Text `fact:"accessToken"`
		Refresh Text `fact:"refreshToken"`
		Scopes  []string
	}{g.state.Access, g.state.Refresh, append([]string(nil), g.state.Scopes...)}) // none is no fact
}

// Tenant owns the grant.
func (g *Grant) Tenant() tenant.ID { return g.state.Tenant }

// Connection is what it is for.
func (g *Grant) Connection() ID { return g.state.Connection }

// Access is the access token, none while there is no grant.
func (g *Grant) Access() Text { return g.state.Access }

// Refresh is what gets new tokens, none where the server gave none.
func (g *Grant) Refresh() Text { return g.state.Refresh }

// Scopes are what the tokens are good for.
func (g *Grant) Scopes() []string { return slices.Clone(g.state.Scopes) }

// IssuedAt is when the access token was issued; nil while there is none.
func (g *Grant) IssuedAt() *time.Time { return g.state.IssuedAt }

// ExpiresAt is when the access token ends; nil when the server does not say.
func (g *Grant) ExpiresAt() *time.Time { return g.state.ExpiresAt }

// Failure is what the last request for tokens failed with, nil when it succeeded.
func (g *Grant) Failure() *TokenFailure { return g.state.Failure }

// Generation counts the changes of the tokens.
func (g *Grant) Generation() int64 { return g.state.Generation }

// Revision counts the changes of the record.
func (g *Grant) Revision() int64 { return g.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (g *Grant) Saved() { g.state.Revision++ }

// IsFor says whether the tokens are of use to a client.
func (g *Grant) IsFor(c OAuth) bool {
	return !g.state.Access.IsZero() && g.state.Client == c.Fingerprint()
}

// NeedsConsent says whether only a person can help.
func (g *Grant) NeedsConsent(c OAuth) bool { return c.ForPeople() && !g.IsFor(c) }

// RefreshAt is from when on the access token is renewed when it is used: when a fifth of its life
// is left, at most 15 minutes before its end. It is nil where the end is not known.
func (g *Grant) RefreshAt() *time.Time {
	if g.state.ExpiresAt == nil || g.state.IssuedAt == nil {
		return nil
	}
	early := min(g.state.ExpiresAt.Sub(*g.state.IssuedAt)/5, maxEarly)
	at := g.state.ExpiresAt.Add(-early)
	return &at
}

// canRenew says whether new tokens can be had without a person.
func (g *Grant) canRenew(c OAuth) bool {
	return !c.ForPeople() || g.IsFor(c) && !g.state.Refresh.IsZero()
}

// Usable says whether the access token may be sent.
func (g *Grant) Usable(c OAuth, now time.Time) bool {
	return g.IsFor(c) && (g.state.ExpiresAt == nil || now.Before(*g.state.ExpiresAt))
}

// Need is what somebody needs who is about to use a connection.
type Need struct {
	// Refused is the access token that the called service refused although it should be valid; none
	// otherwise.
	Refused Text

	// Unused says that nobody is about to use it: it is only to be kept.
	Unused bool
}

// wants says whether new tokens are wanted, and could do without.
func (g *Grant) wants(c OAuth, n Need, now time.Time) (wanted, urgent bool) {
	if !g.Usable(c, now) {
		return true, true
	}
	if !n.Refused.IsZero() && g.state.Access.Equal(n.Refused) && now.Sub(*g.state.IssuedAt) >= minRefusedAge {
		return true, true
	}
	due := g.RefreshAt()
	early := due != nil && !now.Before(*due)
	idle := n.Unused && g.state.RenewAt != nil && !now.Before(*g.state.RenewAt)
	return early || idle, false
}

// Step is what comes next for somebody who needs a token.
type Step int

// The steps.
const (
	UseToken   Step = iota // the access token is good
	AskForMore             // ask for new tokens, under a lease; whoever does not get it uses what is good
	WaitForIt              // somebody asks for them: wait
	CoolsDown              // the last request failed a moment ago: [Grant.Failure]
	AskPerson              // only a person can help
)

// Next says what comes next.
func (g *Grant) Next(c OAuth, n Need, now time.Time) Step {
	wanted, urgent := g.wants(c, n, now)
	after := func(t *time.Time) bool { return t != nil && now.Before(*t) }
	switch {
	case !wanted:
		return UseToken
	case !g.canRenew(c):
		if urgent && !g.Usable(c, now) {
			return AskPerson
		}
		return UseToken // as long as it lasts
	case after(g.state.LeaseEnds):
		if urgent {
			return WaitForIt
		}
		return UseToken
	case after(g.state.RetryAt):
		if urgent {
			return CoolsDown
		}
		return UseToken
	default:
		return AskForMore
	}
}

// RetryIn is how long nothing is asked for any more.
func (g *Grant) RetryIn(now time.Time) time.Duration {
	if g.state.RetryAt == nil {
		return 0
	}
	return max(g.state.RetryAt.Sub(now), 0)
}

// Lease gives the right to ask for tokens, until [RefreshLease] has passed.
func (g *Grant) Lease(now time.Time) Lease {
	ends := now.Add(RefreshLease)
	g.state.LeaseEnds = &ends
	return Lease{generation: g.state.Generation, ends: ends, refresh: g.state.Refresh}
}

// Lease is the right to ask for tokens once.
type Lease struct {
	generation int64
	ends       time.Time
	refresh    Text
}

// Refresh is what gets new tokens; none for a client that asks for itself.
func (l Lease) Refresh() Text { return l.refresh }

// Accept keeps what was asked for under a lease, and says whether it did: not when others have
// changed the tokens meanwhile, and theirs are the current ones then. A lease that has only ended does not
// stand against it: the server may have taken the old refresh token back, so that whoever asked
// with it after that has lost what is found here.
func (g *Grant) Accept(l Lease, c OAuth, t IssuedTokens, now time.Time) bool {
	if l.generation != g.state.Generation {
		return false
	}
	if t.Refresh.IsZero() { // it stays as it is (RFC 6749, §6)
		t.Refresh = l.refresh
	}
	if t.Scopes == nil && g.IsFor(c) {
		t.Scopes = g.state.Scopes
	}
	g.take(c, t, now)
	return true
}

// Consented keeps the tokens of a person's consent, whatever there was before.
func (g *Grant) Consented(c OAuth, t IssuedTokens, now time.Time) { g.take(c, t, now) }

func (g *Grant) take(c OAuth, t IssuedTokens, now time.Time) {
	if t.Scopes == nil {
		t.Scopes = c.Scopes
	}
	s := &g.state
	s.Client, s.Access, s.Refresh, s.Scopes = c.Fingerprint(), t.Access, t.Refresh, slices.Clone(t.Scopes)
	s.IssuedAt, s.ExpiresAt = &now, nil
	if t.Life > 0 {
		end := now.Add(t.Life)
		s.ExpiresAt = &end
	}
	s.RenewAt = g.renewal(c, t.RefreshLife, now)
	s.Failure, s.RetryAt, s.LeaseEnds = nil, nil, nil
	s.Generation++
}

// renewal is when a grant is renewed that nobody uses. One without a refresh token ends with its access
// token, of which people are told then.
func (g *Grant) renewal(c OAuth, refreshLife time.Duration, now time.Time) *time.Time {
	switch {
	case !c.ForPeople():
		return nil // nothing is lost
	case g.state.Refresh.IsZero():
		return g.state.ExpiresAt
	}
	idle := maxIdle
	if refreshLife > 0 {
		idle = min(idle, max(refreshLife/2, minIdle))
	}
	at := now.Add(idle)
	return &at
}

// Fail notes that a request failed that was made under a lease, and says whether consent
// was lost by it, which is once. A failure of a request that others have overtaken is none.
func (g *Grant) Fail(l Lease, c OAuth, f TokenFailure, now time.Time) (consentLost bool) {
	s := &g.state
	if l.generation != s.Generation || s.LeaseEnds == nil || !s.LeaseEnds.Equal(l.ends) {
		return false
	}
	f.At, s.Failure, s.LeaseEnds = now, &f, nil
	if f.Code == ConsentLost && c.ForPeople() {
		g.lose()
		return true
	}
	retry := now.Add(CoolDown)
	s.RetryAt = &retry
	if s.RenewAt != nil { // an unused one is tried again, too
		s.RenewAt = &retry
	}
	return false
}

// Expire notes that the access token has ended with nothing to renew it by, and says whether
// this was news.
func (g *Grant) Expire(c OAuth, now time.Time) bool {
	if !c.ForPeople() || !g.IsFor(c) || g.canRenew(c) || g.Usable(c, now) {
		return false
	}
	g.state.Failure = &TokenFailure{Code: ConsentExpired, Message: "The access token has expired, and the authorization server gave nothing to renew it with.", At: now}
	g.lose()
	return true
}

// lose drops the tokens, with which nothing can be had any more. The generation
// stays: a request that was quicker at the server than the one that found the loss may still bring
// tokens.
func (g *Grant) lose() {
	s := &g.state
	s.Access, s.Refresh, s.ExpiresAt, s.IssuedAt, s.RenewAt, s.RetryAt, s.LeaseEnds = Text{}, Text{}, nil, nil, nil, nil, nil
}
