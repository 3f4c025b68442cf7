package trigger

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Config is what a client configured: the document exactly as it was sent, and
// what the gateway reads in it. The zero value is the empty configuration. Build
// one with [ParseConfig] or [RestoreConfig].
type Config struct {
	document domain.Document
	read     func() members // parsed when first needed
}

// members are the parts of a configuration that the gateway knows.
type members struct {
	rateLimit *RateLimit
	timeout   *time.Duration
	retry     *workflow.RetryPolicy
	event     *string
	schedule  scheduleConfig
	filter    string // empty for none
	payload   string // the text of payloadSchema, empty for none
	bound     *Concurrency
}

// RateLimit bounds how often a trigger starts runs.
type RateLimit struct {
	MaxRequests int64 // at least 1
	Window      time.Duration
}

// What holds where a configuration says nothing.
const (
	DefaultTimeout    = 30 * time.Minute
	defaultMaxRetries = 3
	defaultBackoff    = time.Second
	defaultMaxBackoff = 30 * time.Second
)

// Concurrency bounds how many runs of a trigger are live at the same time.
type Concurrency struct {
	Key      string // an expression: only runs of one key count together; empty for all runs
	Limit    int    // 1 to [MaxConcurrency]
	Overflow Overflow
}

// MaxConcurrency is the greatest limit of a [Concurrency].
const MaxConcurrency = 1000

// Overflow says what becomes of a run for which there is no room.
type Overflow string

// The ways of dealing with it.
const (
	OverflowQueue  Overflow = "queue"         // it begins when another one has ended, in the order of the starts; the default
	OverflowSkip   Overflow = "skip"          // it is not started
	OverflowCancel Overflow = "cancelRunning" // the oldest is cancelled for it
)

// DefaultRetryPolicy governs runs of triggers that configure none.
func DefaultRetryPolicy() workflow.RetryPolicy {
	return workflow.RetryPolicy{MaxRetries: defaultMaxRetries, Backoff: defaultBackoff, MaxBackoff: defaultMaxBackoff}
}

// CatchUp says what becomes of instants that passed while nobody could fire.
type CatchUp string

// The ways of catching up. Nothing older than [MaxLookBack] is caught up.
const (
	CatchUpNone CatchUp = "none" // they are skipped
	CatchUpLast CatchUp = "last" // the latest of them fires; the default
	CatchUpAll  CatchUp = "all"  // each of them fires
)

// Overlap says what becomes of an instant while a run of the trigger still goes on.
type Overlap string

// The ways of overlapping.
const (
	OverlapAllow Overlap = "allow" // it fires anyway; the default
	OverlapSkip  Overlap = "skip"  // it is suppressed
)

// scheduleConfig is the member scheduleConfig.
type scheduleConfig struct {
	cron     *Cron
	interval time.Duration // 0 when there is none
	zone     *time.Location
	catchUp  CatchUp
	overlap  Overlap
}

// Document is the configuration as it was sent.
func (c Config) Document() domain.Document { return c.document }

// Equal says whether both were sent as the same text.
func (c Config) Equal(other Config) bool { return c.document == other.document }

func (c Config) members() members {
	if c.read == nil {
		return members{}
	}
	return c.read()
}

// RateLimit bounds how often the trigger starts runs; ok is false without a bound.
func (c Config) RateLimit() (limit RateLimit, ok bool) {
	if m := c.members(); m.rateLimit != nil {
		return *m.rateLimit, true
	}
	return RateLimit{}, false
}

// Timeout is how long a run may take, paused time not counted.
func (c Config) Timeout() time.Duration {
	if m := c.members(); m.timeout != nil {
		return *m.timeout
	}
	return DefaultTimeout
}

// RetryPolicy governs the attempts at each node that says nothing itself.
func (c Config) RetryPolicy() workflow.RetryPolicy {
	if m := c.members(); m.retry != nil {
		return *m.retry
	}
	return DefaultRetryPolicy()
}

// Event is the name of the event that a webhook trigger listens for; ok is false
// when it names none.
func (c Config) Event() (name string, ok bool) {
	if m := c.members(); m.event != nil {
		return *m.event, true
	}
	return "", false
}

// Filter is the expression that decides which payloads start a run; ok is false without one.
func (c Config) Filter() (source string, ok bool) {
	source = c.members().filter
	return source, source != ""
}

// HasPayloadSchema says whether only payloads of a schema may start a run.
func (c Config) HasPayloadSchema() bool { return c.members().payload != "" }

// PayloadSchema says which payloads may start a run; ok is false where every one may. It is read
// anew each time, for it can be large.
func (c Config) PayloadSchema() (schema node.Schema, ok bool) {
	text := c.members().payload
	if text == "" {
		return node.Schema{}, false
	}
	var r domain.Rules
	schema = node.ParseSchema(&r, payloadSchemaPath, node.ReadDeclarations(&r, payloadSchemaPath, []byte(text)))
	return schema, len(r.Violations()) == 0
}

// Selects says whether a payload has to be looked at before a run is started with it.
func (c Config) Selects() bool {
	m := c.members()
	return m.filter != "" || m.payload != "" || m.bound != nil
}

// Concurrency bounds how many runs are live; ok is false without a bound.
func (c Config) Concurrency() (bound Concurrency, ok bool) {
	if m := c.members(); m.bound != nil {
		return *m.bound, true
	}
	return Concurrency{}, false
}

// CatchUp says what becomes of missed instants.
func (c Config) CatchUp() CatchUp {
	if catchUp := c.members().schedule.catchUp; catchUp != "" {
		return catchUp
	}
	return CatchUpLast
}

// Overlap says what becomes of an instant while a run goes on.
func (c Config) Overlap() Overlap {
	if overlap := c.members().schedule.overlap; overlap != "" {
		return overlap
	}
	return OverlapAllow
}

// Schedule returns when the trigger is due if it was activated at the time; ok is
// false when neither a cron expression nor an interval is configured, so that it
// never is.
func (c Config) Schedule(activatedAt time.Time) (s Schedule, ok bool) {
	switch sc := c.members().schedule; {
	case sc.cron != nil:
		return NewCronSchedule(*sc.cron, sc.location()), true
	case sc.interval > 0:
		return NewIntervalSchedule(sc.interval, activatedAt), true
	default:
		return Schedule{}, false
	}
}

// sameTimes says whether both are due at the same times: the same expression in the
// same zone, or the same interval.
func (c Config) sameTimes(other Config) bool {
	a, b := c.members().schedule, other.members().schedule
	if a.interval != b.interval || (a.cron == nil) != (b.cron == nil) {
		return false
	}
	return a.cron == nil || a.cron.text == b.cron.text && a.location().String() == b.location().String()
}

func (sc scheduleConfig) location() *time.Location {
	if sc.zone == nil {
		return time.UTC
	}
	return sc.zone
}

// RestoreConfig rebuilds a configuration from the text that a store kept. It is not
// checked: no bound applies, and a member that cannot be read at all reads as absent.
// A schedule whose expression, interval or time zone cannot be read is absent as a
// whole, so that it is never due at a time nobody asked for.
func RestoreConfig(text string) Config {
	doc := domain.RestoreDocument(text)
	return Config{document: doc, read: sync.OnceValue(func() members {
		var r domain.Rules
		return readMembers(&r, doc, true)
	})}
}

// CheckExpressions returns what is wrong with the expressions in a configuration, whatever else is
// wrong with it.
func CheckExpressions(doc domain.Document, language workflow.Expressions) []domain.Violation {
	var r, elsewhere domain.Rules
	all, err := membersOf(doc.String())
	if err != nil {
		return nil // ParseConfig says so
	}
	check := func(field, source string) {
		if source != "" {
			problem := language.Check(workflow.Source{Text: source, Roots: []workflow.Root{{Name: workflow.RootPayload}}}).Problem
			r.Check(problem == "", field, workflow.BadExpression, "must be an expression that compiles: %s", problem)
		}
	}
	whole := reader{&elsewhere, false, configPath, all}
	check(filterPath, whole.expression("filter"))
	if bound, ok := whole.object("concurrency"); ok {
		check(domain.Member(bound.path, "key"), bound.expression("key"))
	}
	return r.Violations()
}

// ParseConfig reads a configuration, and does not compile the expressions in it. The violations
// name their fields below "config". Members that the gateway does not know are kept and not looked at. The
// members of the other type of trigger are checked as well, although they have no
// effect. What editors write for a blank member may stand for webhookConfig, filter, payloadSchema
// and concurrency.
func ParseConfig(doc domain.Document) (Config, []domain.Violation) {
	var r domain.Rules
	m := readMembers(&r, doc, false)
	return Config{document: doc, read: func() members { return m }}, r.Violations()
}
