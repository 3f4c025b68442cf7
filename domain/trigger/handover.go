package trigger

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// VersionNotActive is why a trigger that was left behind starts no run, as the ledger of its
// schedule and the event about it say.
const VersionNotActive = "version_not_active"

// LeftBehindRetention is how long a schedule that was left behind is written down in the ledger: as
// long as that keeps an entry. Workflows are published again and again, and what is left
// behind each time would have to be looked at for ever.
const LeftBehindRetention = FireRetention

// LeftBehindReason says why triggers stay behind when another version of their workflow becomes the
// active one.
type LeftBehindReason string

// The reasons for leaving triggers behind.
const (
	LeftBehindForOwn     LeftBehindReason = "version_has_triggers" // the other version has triggers of its own
	LeftBehindBySettings LeftBehindReason = "settings"             // the tenant's settings say so
	LeftBehindByRequest  LeftBehindReason = "request"              // who publishes says so
)

// LeftBehindTrigger is a trigger that stayed behind.
type LeftBehindTrigger struct {
	ID     ID
	Name   string
	Reason LeftBehindReason
}

// PublishOptions is what who publishes a version says of the triggers of the one that is active
// so far.
type PublishOptions struct {
	Triggers  *tenant.TriggersOnPublish // nil leaves it to the settings and to what triggers there are
	Malformed []domain.Violation        // what was found while the request was read; reported with the rest
}

// Check returns what is wrong with it, as Invalid with the code publish_invalid.
func (o PublishOptions) Check() error {
	var r domain.Rules
	r.Add(o.Malformed...)
	if o.Triggers != nil {
		o.Triggers.Check(&r, "triggers")
	}
	return r.Err("publish_invalid", "The request is not valid.")
}

// WhyLeftBehind says why the triggers of the version that is active so far stay behind when
// another one takes its place; empty where they move along. A version that has triggers of its
// own gets others only where that is asked.
func (o PublishOptions) WhyLeftBehind(s tenant.Settings, hasOwn bool) LeftBehindReason {
	switch {
	case o.Triggers != nil && *o.Triggers == tenant.MoveTriggers:
		return ""
	case o.Triggers != nil:
		return LeftBehindByRequest
	case s.OnPublish() == tenant.LeaveTriggers:
		return LeftBehindBySettings
	case hasOwn:
		return LeftBehindForOwn
	default:
		return ""
	}
}

// MarkLeftBehind notes that the trigger could fire, and cannot any more because its version is not
// the active one. It has no effect on a trigger that is noted so already.
func (t *Trigger) MarkLeftBehind(now time.Time) {
	if t.state.LeftAt == nil {
		t.state.LeftAt = &now
	}
}

// LeftBehind says whether the trigger could fire if its version were the active one, as it
// was when it last fired or could have.
func (t *Trigger) LeftBehind() bool { return t.state.LeftAt != nil }

// suppressLeft suppresses what a schedule that was left behind would start.
func (t *Trigger) suppressLeft(plan []PlannedFire) {
	if !t.LeftBehind() {
		return
	}
	for i, p := range plan {
		if p.Outcome.Starts() {
			plan[i].Outcome, plan[i].Reason = Suppressed, VersionNotActive
		}
	}
}

// FiredBy names what fires the trigger, for people: triggers that name the same are fired
// together. It is empty for one that is inactive, or that only calls of its own fire.
func (t *Trigger) FiredBy() string {
	if !t.state.Active {
		return ""
	}
	if event, ok := t.Event(); ok {
		return "the event " + strconv.Quote(event)
	}
	s, ok := t.Schedule()
	switch {
	case !ok:
		return ""
	case s.cron == nil:
		return "an interval of " + s.interval.String()
	}
	fields, err := cronFields(strings.TrimSpace(s.cron.text))
	if err != nil {
		return ""
	}
	return "the cron expression " + strconv.Quote(strings.Join(fields, " ")) + " in " + s.zone.String()
}
