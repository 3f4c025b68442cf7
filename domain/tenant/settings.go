package tenant

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Language is a language in which the node registry speaks, as a BCP 47 tag.
type Language string

// The languages there are catalogues for.
const (
	English             Language = "en"
	BrazilianPortuguese Language = "pt-BR"
	Spanish             Language = "es"
)

// Languages lists every language there is, the default first.
func Languages() []Language { return []Language{English, BrazilianPortuguese, Spanish} }

// Valid says whether there is a catalogue for the language.
func (l Language) Valid() bool { return slices.Contains(Languages(), l) }

func (l Language) check(r *domain.Rules, field string) {
	r.Check(l.Valid(), field, domain.NotAllowed, "must be one of %s, not %q", domain.OneOf(Languages()...), string(l))
}

// PublicTriggerCreation says what a public key may do with POST /triggers.
type PublicTriggerCreation string

// The choices for [PublicTriggerCreation].
const (
	PublicTriggersForbidden PublicTriggerCreation = "forbidden" // the default: only a secret key creates triggers
	PublicTriggersLimited   PublicTriggerCreation = "limited"   // webhook triggers, created inactive, at most [PublicTriggersPerMinute]
)

// PublicTriggersPerMinute bounds how many triggers public keys of one tenant may
// create in any minute when the tenant allows it at all.
const PublicTriggersPerMinute = 10

// Valid says whether c is a choice that exists.
func (c PublicTriggerCreation) Valid() bool {
	return c == PublicTriggersForbidden || c == PublicTriggersLimited
}

// TriggersOnPublish says what becomes of the triggers of a workflow's active version when
// another one takes its place.
type TriggersOnPublish string

// The choices for [TriggersOnPublish].
const (
	MoveTriggers  TriggersOnPublish = "move"  // the default: they are attached to the new one, unless that has triggers of its own
	LeaveTriggers TriggersOnPublish = "leave" // they stay where they are, and do not fire any more
)

// Valid says whether t is a choice that exists.
func (t TriggersOnPublish) Valid() bool { return t == MoveTriggers || t == LeaveTriggers }

// Check reports a choice that does not exist.
func (t TriggersOnPublish) Check(r *domain.Rules, field string) {
	r.Check(t.Valid(), field, domain.NotAllowed, "must be %s, not %q", domain.OneOf(MoveTriggers, LeaveTriggers), string(t))
}

// Event is a name that the webhook triggers of a tenant may listen for.
type Event struct {
	Name  string // what webhookConfig.event holds, 1 to 255 characters
	Label string // for people, at most 255 characters
}

// Settings are a tenant's choices. The zero value has every default except the language.
type Settings struct {
	Language              Language
	DisabledNodeTypes     []string              // built-in node types that the registry leaves out
	PublicTriggerCreation PublicTriggerCreation // empty means PublicTriggersForbidden
	TriggersOnPublish     TriggersOnPublish     // empty means MoveTriggers
	Events                []Event               // when not empty, webhookConfig.event must be one of these names
	CustomNodeEndpoint    string                // URL that runs custom nodes without an endpoint of their own; empty for none
	EmbedOrigins          []string              `fact:"embed.origins"` // of the pages that may frame the editor, as scheme://host:port; empty for none
	Quotas                map[KeyType]Quota     `fact:"limits"`        // overrides of [DefaultQuota], set by the operator
	RunRetentionDays      *int                  // override of the gateway's days, set by the operator; nil for none
	DefaultRunDays        int                   `fact:"-"` // those of the gateway, which no tenant keeps; 0 for [DefaultRunRetentionDays]
	Budgets               Budgets               // set by the operator
	DefaultBytesKept      int64                 `fact:"-"` // the gateway's budget of a tenant that has none of its own; 0 for none
}

// How many days finished runs are kept.
const (
	DefaultRunRetentionDays = 30
	MinRunRetentionDays     = 1
	MaxRunRetentionDays     = 3650
)

// RunRetention is how long the tenant's finished runs are kept.
func (s Settings) RunRetention() time.Duration {
	return time.Duration(s.KeptRunDays()) * 24 * time.Hour
}

// KeptRunDays is the same in days: the operator's override where there is one, else those of
// the gateway.
func (s Settings) KeptRunDays() int {
	if s.RunRetentionDays != nil {
		return *s.RunRetentionDays
	}
	return cmp.Or(s.DefaultRunDays, DefaultRunRetentionDays)
}

// EffectiveBudgets are the tenant's budgets: the operator's where there are, else those of the gateway.
func (s Settings) EffectiveBudgets() Budgets { return s.Budgets.Or(s.DefaultBytesKept) }

// PublicTriggers returns the choice for POST /triggers with a public key.
func (s Settings) PublicTriggers() PublicTriggerCreation {
	if s.PublicTriggerCreation == "" {
		return PublicTriggersForbidden
	}
	return s.PublicTriggerCreation
}

// OnPublish returns what becomes of triggers when a version is published.
func (s Settings) OnPublish() TriggersOnPublish {
	if s.TriggersOnPublish == "" {
		return MoveTriggers
	}
	return s.TriggersOnPublish
}

// KnowsEvent says whether a webhook trigger may name this event: any name while
// the tenant lists none.
func (s Settings) KnowsEvent(name string) bool {
	return len(s.Events) == 0 || slices.ContainsFunc(s.Events, func(e Event) bool { return e.Name == name })
}

// Quota returns what a type of key may ask of the gateway: the operator's
// override for this tenant where there is one, else the default.
func (s Settings) Quota(t KeyType) Quota {
	if q, ok := s.Quotas[t]; ok {
		return q
	}
	return DefaultQuota(t)
}

func (s Settings) clone() Settings {
	s.DisabledNodeTypes = slices.Clone(s.DisabledNodeTypes)
	s.Events = slices.Clone(s.Events)
	s.EmbedOrigins = slices.Clone(s.EmbedOrigins)
	s.Quotas = maps.Clone(s.Quotas)
	if s.RunRetentionDays != nil {
		days := *s.RunRetentionDays
		s.RunRetentionDays = &days
	}
	return s
}

// Configure replaces the tenant's settings. knownNode says whether a built-in
// node type of this name exists. Every violation is reported at once, with the
// code settings_invalid.
func (t *Tenant) Configure(s Settings, knownNode func(string) bool, now time.Time) error {
	return t.configure(s, nil, knownNode, now)
}

func (t *Tenant) configure(s Settings, malformed []domain.Violation, knownNode func(string) bool, now time.Time) error {
	var r domain.Rules
	r.Add(malformed...)
	s.check(&r, knownNode)
	if err := r.Err("settings_invalid", "The settings are not valid."); err != nil {
		return err
	}
	t.state.Settings, t.state.UpdatedAt = s.clone(), now
	return nil
}

// Bounds of the lists in settings, which are read with every request.
const (
	MaxDisabled     = 1000
	MaxEvents       = 1000
	MaxEmbedOrigins = 50
)

// fits says whether the lists are no longer than they may be.
func (s Settings) fits(r *domain.Rules) bool {
	disabled, events, origins := len(s.DisabledNodeTypes), len(s.Events), len(s.EmbedOrigins)
	r.Check(disabled <= MaxDisabled, "disabledNodeTypes", domain.TooLong, "must hold at most %d disabledNodeTypes, not %d", MaxDisabled, disabled)
	r.Check(events <= MaxEvents, "events", domain.TooLong, "must hold at most %d events, not %d", MaxEvents, events)
	r.Check(origins <= MaxEmbedOrigins, embedOrigins, domain.TooLong, "must hold at most %d embed.origins, not %d", MaxEmbedOrigins, origins)
	return disabled <= MaxDisabled && events <= MaxEvents && origins <= MaxEmbedOrigins
}

func (s Settings) check(r *domain.Rules, knownNode func(string) bool) {
	s.Language.check(r, "language")
	r.Check(s.PublicTriggers().Valid(), "publicTriggerCreation", domain.NotAllowed, "must be one of %s, not %q",
		domain.OneOf(PublicTriggersForbidden, PublicTriggersLimited), string(s.PublicTriggerCreation))
	s.OnPublish().Check(r, "triggersOnPublish")
	if !s.fits(r) {
		return
	}
	for i, name := range s.DisabledNodeTypes {
		path := domain.Index("disabledNodeTypes", i)
		if r.Broken(path) {
			continue // it is no name at all
		}
		r.Check(knownNode(name), path, domain.Unknown, "must name a built-in node type; there is no %q", name)
		r.Check(slices.Index(s.DisabledNodeTypes, name) == i, path, domain.Duplicate, "names %q a second time", name)
	}
	seen := make(map[string]bool, len(s.Events))
	for i, e := range s.Events {
		path := domain.Index("events", i)
		if r.Broken(path) {
			continue // it is no event at all
		}
		r.Text(e.Name, domain.Member(path, "name"), 1, 255)
		r.Text(e.Label, domain.Member(path, "label"), 0, 255)
		r.Check(!seen[e.Name], domain.Member(path, "name"), domain.Duplicate, "names %q a second time", e.Name)
		seen[e.Name] = true
	}
	for i, origin := range s.EmbedOrigins {
		path := domain.Index(embedOrigins, i)
		if r.Broken(path) {
			continue // it is no text at all
		}
		checkOrigin(r, origin, path)
		r.Check(slices.Index(s.EmbedOrigins, origin) == i, path, domain.Duplicate, "names %q a second time", origin)
	}
	s.checkEndpoint(r)
	s.checkLimits(r)
}

// embedOrigins is the field of the origins that may frame the editor.
const embedOrigins = "embed.origins"

// checkLimits checks what the operator sets.
func (s Settings) checkLimits(r *domain.Rules) {
	for _, kt := range KeyTypes() {
		if q, ok := s.Quotas[kt]; ok {
			q.check(r, domain.Member("limits", string(kt)))
		}
	}
	if days := s.RunRetentionDays; days != nil {
		const field = "limits.runRetentionDays"
		r.Check(*days >= MinRunRetentionDays, field, domain.TooSmall, "must be at least %d, not %d", MinRunRetentionDays, *days)
		r.Check(*days <= MaxRunRetentionDays, field, domain.TooLarge, "must be at most %d, not %d", MaxRunRetentionDays, *days)
	}
}

// maxEndpoint bounds the address of the endpoint, in characters.
const maxEndpoint = 2048

func (s Settings) checkEndpoint(r *domain.Rules) {
	const field = "customNodeEndpoint"
	if s.CustomNodeEndpoint == "" {
		return
	}
	r.Text(s.CustomNodeEndpoint, field, 0, maxEndpoint)
	u, err := url.Parse(s.CustomNodeEndpoint)
	r.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil, field, domain.BadFormat,
		"must be an absolute http or https URL without credentials")
}

// SettingsPatch is what a client wants to change of its settings; nil leaves a
// member as it is. The limits are the operator's.
type SettingsPatch struct {
	Language              *Language
	DisabledNodeTypes     *[]string
	PublicTriggerCreation *PublicTriggerCreation
	TriggersOnPublish     *TriggersOnPublish
	Events                *[]Event
	CustomNodeEndpoint    *string // empty takes the endpoint away
	EmbedOrigins          *[]string
	Malformed             []domain.Violation // what was found while the request was read; reported with the rest
}

// ReviseSettings changes the tenant's settings as a whole or not at all. knownNode
// says whether a built-in node type of this name exists. Every violation is
// reported at once, with the code settings_invalid.
func (t *Tenant) ReviseSettings(p SettingsPatch, knownNode func(string) bool, now time.Time) error {
	s := t.state.Settings.clone()
	domain.Set(&s.Language, p.Language)
	domain.Set(&s.DisabledNodeTypes, p.DisabledNodeTypes)
	domain.Set(&s.PublicTriggerCreation, p.PublicTriggerCreation)
	domain.Set(&s.TriggersOnPublish, p.TriggersOnPublish)
	domain.Set(&s.Events, p.Events)
	domain.Set(&s.CustomNodeEndpoint, p.CustomNodeEndpoint)
	domain.Set(&s.EmbedOrigins, p.EmbedOrigins)
	return t.configure(s, p.Malformed, knownNode, now)
}
