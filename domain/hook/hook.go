package hook

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Bounds of a hook.
const (
	MaxSecrets    = 10
	MaxExpression = 4096 // characters

	// MaxGrace is how long an address may live on after another one took its place.
	MaxGrace = 30 * 24 * time.Hour

	// KeyRetention is how long the key of a delivery stands for the run that it started: some
	// senders repeat for a week.
	KeyRetention = 8 * 24 * time.Hour
)

// The limits of a hook unless it says otherwise, and the greatest that it can have.
const (
	DefaultPerMinute  = 600
	MaxPerMinute      = 600_000
	DefaultConcurrent = 20
	MaxConcurrent     = 1000
)

// Limits bound what is taken at the address of a hook.
type Limits struct {
	PerMinute  int // deliveries
	Concurrent int // deliveries at the same time
}

// Or completes limits that are not set.
func (l Limits) Or() Limits {
	if l.PerMinute == 0 {
		l.PerMinute = DefaultPerMinute
	}
	if l.Concurrent == 0 {
		l.Concurrent = DefaultConcurrent
	}
	return l
}

// Config is what a client configures. Expressions are over the payload; a nil one is the preset's.
type Config struct {
	Scheme    Scheme
	Secrets   []connection.ID // in the order in which they are tried
	Event     *string         // gives the name of the event
	Entity    *string         `fact:"entityId"` // gives what the run is about
	Dedupe    *string         // gives what tells the delivery, or its item, from others
	Filter    *string         // a delivery for which it is falsy starts nothing
	Split     *string         // gives an array, of which each item starts a run
	Ingest    bool            // the delivery is ingested as its event
	RawBody   bool            // runs get the bytes of the body, too
	Respond   Respond
	AllowFrom Ranges
	Limits    Limits // zero members stand for the defaults
}

// Hook is the address at which a third party fires a trigger. Build one with [New] or [Restore].
type Hook struct{ state State }

// State is everything a store keeps of a hook. A trigger has at most one.
type State struct {
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID `fact:"subTenantId"` // that of the trigger, empty for none
	Trigger   trigger.ID         `fact:"triggerId"`
	Config
	Active       bool `fact:"isActive"`
	Token        TokenHash
	Hint         string     `fact:"-"`           // of the token
	Retired      *TokenHash `fact:"-"`           // of the address before, nil for none
	RetiredUntil time.Time  `fact:"oldUrlUntil"` // when that ends
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Revision     int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// Draft is a hook as a client sends it.
type Draft struct {
	Config
	Active    *bool              // nil means true
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

const invalid, invalidMessage = "hook_invalid", "The hook is not valid."

// Checks look up what the rules cannot say alone. Each records what is wrong.
type Checks struct {
	Expression func(r *domain.Rules, field, source string)
	Secret     func(r *domain.Rules, field string, id connection.ID)
}

// New makes the hook of a trigger, which is of type webhook: else it is a Conflict with the code
// trigger_not_webhook. Every violation is reported at once, with the code hook_invalid.
func New(trg *trigger.Trigger, d Draft, token Token, checks Checks, now time.Time) (*Hook, error) {
	if trg.Type() != trigger.Webhook {
		return nil, domain.Fail(domain.Conflict, "trigger_not_webhook", "The trigger is of type %s: its schedule fires it. Only a trigger of type %s can have a hook.", trg.Type(), trigger.Webhook)
	}
	s := State{
		Tenant: trg.Tenant(), SubTenant: trg.SubTenant(), Trigger: trg.ID(), Config: d.Config, Active: d.Active == nil || *d.Active,
		Token: token.Hash(), Hint: token.Hint(), CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	var r domain.Rules
	r.Add(d.Malformed...)
	if err := s.check(&r, checks); err != nil {
		return nil, err
	}
	return &Hook{s.clone()}, nil
}

// Restore rebuilds a hook from what a store kept, without applying any rule.
func Restore(s State) *Hook { return &Hook{s.clone()} }

// Facts are what the audit log says of it.
func (h *Hook) Facts() domain.Facts { return domain.FactsOf(h.state) }

// State returns what a store has to keep.
func (h *Hook) State() State { return h.state.clone() }

func (s State) clone() State {
	s.Secrets = slices.Clone(s.Secrets)
	return s // what pointers lead to is replaced and never changed
}

// Patch is what a client wants to change; nil leaves a member as it is.
type Patch struct {
	Scheme    *Scheme
	Secrets   *[]connection.ID
	Event     Change
	Entity    Change
	Dedupe    Change
	Filter    Change
	Split     Change
	Ingest    *bool
	RawBody   *bool
	Respond   *Respond
	AllowFrom *Ranges
	Limits    *Limits
	Active    *bool
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// Change is that of an expression.
type Change struct {
	To     *string // nil for no change
	Remove bool    // makes it the preset's again
}

// Revise changes the hook as a whole or not at all. Every violation is reported at once, with the
// code hook_invalid.
func (h *Hook) Revise(p Patch, checks Checks, now time.Time) error {
	next := h.state.clone()
	domain.Set(&next.Scheme, p.Scheme)
	domain.Set(&next.Secrets, p.Secrets)
	for _, c := range []struct {
		member *(*string)
		change Change
	}{{&next.Event, p.Event}, {&next.Entity, p.Entity}, {&next.Dedupe, p.Dedupe}, {&next.Filter, p.Filter}, {&next.Split, p.Split}} {
		domain.SetOptional(c.member, c.change.To, c.change.Remove)
	}
	domain.Set(&next.Ingest, p.Ingest)
	domain.Set(&next.RawBody, p.RawBody)
	domain.Set(&next.Respond, p.Respond)
	domain.Set(&next.AllowFrom, p.AllowFrom)
	domain.Set(&next.Limits, p.Limits)
	domain.Set(&next.Active, p.Active)
	var r domain.Rules
	r.Add(p.Malformed...)
	if err := next.check(&r, checks); err != nil {
		return err
	}
	next.UpdatedAt = now
	h.state = next.clone()
	return nil
}

// check reports every broken rule.
func (s State) check(r *domain.Rules, checks Checks) error {
	s.checkSecrets(r, checks)
	for _, e := range s.expressions() {
		if e.source == nil || r.Broken(e.field) {
			continue
		}
		r.Text(*e.source, e.field, 0, MaxExpression)
		if *e.source != "" && !r.Broken(e.field) {
			checks.Expression(r, e.field, *e.source)
		}
	}
	split := s.split() != ""
	r.Check(!s.Ingest || s.event() != "", "ingest", domain.Conflicting, "must be left out without an event: that is what is ingested")
	r.Check(!split || !s.Ingest, "ingest", domain.Conflicting, "must be left out where the delivery is split")
	r.Check(!split || s.Respond.Mode() != WhenDone, "respond.mode", domain.Conflicting, "must not be %q where the delivery is split: there is no one run to wait for", WhenDone)
	limits := s.Limits.Or()
	r.Check(limits.PerMinute >= 1 && limits.PerMinute <= MaxPerMinute, "limits.perMinute", domain.NotAllowed, "must be from 1 to %d", MaxPerMinute)
	r.Check(limits.Concurrent >= 1 && limits.Concurrent <= MaxConcurrent, "limits.concurrent", domain.NotAllowed, "must be from 1 to %d", MaxConcurrent)
	return r.Err(invalid, invalidMessage)
}

func (s State) checkSecrets(r *domain.Rules, checks Checks) {
	r.Check(len(s.Secrets) <= MaxSecrets, "secrets", domain.TooLong, "must hold at most %d connections, not %d", MaxSecrets, len(s.Secrets))
	if r.Broken("secrets") {
		return
	}
	for i, id := range s.Secrets {
		field := domain.Index("secrets", i)
		r.Check(!slices.Contains(s.Secrets[:i], id), field, domain.Duplicate, "names the connection a second time")
		if !r.Broken(field) {
			checks.Secret(r, field, id)
		}
	}
	wants := s.Scheme.Uses(SecretText) || s.Scheme.Uses(SecretPublicKey)
	r.Check(!wants || len(s.Secrets) > 0 || r.Broken("scheme"), "secrets", domain.Required, "must name the connection that holds what the sender proves itself with")
	r.Check(!s.Scheme.IsOpen() || len(s.Secrets) == 0, "secrets", domain.Conflicting, "must be empty where the scheme verifies nothing")
}

// expressions are those that the client wrote, by the names of their members.
func (c Config) expressions() []struct {
	field  string
	source *string
} {
	return []struct {
		field  string
		source *string
	}{{"event", c.Event}, {"entityId", c.Entity}, {"dedupe", c.Dedupe}, {"filter", c.Filter}, {"split", c.Split}}
}

func (c Config) event() string { return orDefault(c.Event, c.Scheme.Defaults().Event) }
func (c Config) split() string { return orDefault(c.Split, c.Scheme.Defaults().Split) }

// orDefault is an expression, or the preset's. An empty one that the client wrote is none.
func orDefault(source *string, preset string) string {
	if source != nil {
		return *source
	}
	return preset
}

// Rotate gives the hook another address. The one before lives for a grace.
func (h *Hook) Rotate(token Token, grace time.Duration, now time.Time) error {
	var r domain.Rules
	r.Check(grace >= 0 && grace <= MaxGrace, "graceSeconds", domain.NotAllowed, "must be from 0 to %d", int(MaxGrace.Seconds()))
	if err := r.Err(invalid, invalidMessage); err != nil {
		return err
	}
	h.state.Retired = nil
	if grace > 0 {
		old := h.state.Token
		h.state.Retired, h.state.RetiredUntil = &old, now.Add(grace)
	}
	h.state.Token, h.state.Hint, h.state.UpdatedAt = token.Hash(), token.Hint(), now
	return nil
}
