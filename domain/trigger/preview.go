package trigger

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Bounds of the number of fire times that are previewed.
const (
	MinPreview     = 1
	MaxPreview     = 100
	DefaultPreview = 5
)

// Preview is what a schedule does next.
type Preview struct {
	Upcoming []Occurrence   // in order
	Zone     *time.Location // in which the times are meant; UTC for an interval, nil without a schedule
	Reason   string         // why there are none, or none of them fires as things stand, or why there are fewer than were asked for; else empty
}

// PreviewDraft is a configuration to preview, as a client sends it.
type PreviewDraft struct {
	Config    *domain.Document   // required
	Count     *int               // how many fire times, 1 to 100; nil for 5
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// NewPreview previews a configuration as if a trigger with it were activated now.
// Every violation is reported at once, with the code preview_invalid.
func NewPreview(d PreviewDraft, now time.Time) (Preview, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	var config Config
	if d.Config != nil {
		var found []domain.Violation
		config, found = ParseConfig(*d.Config)
		r.Add(found...)
	} else if !reported(&r, "config") {
		r.Check(false, "config", domain.Required, "must be given: the configuration of a trigger")
	}
	n, err := previewCount(&r, d.Count)
	if err != nil {
		return Preview{}, err
	}
	return config.preview(now, now, n), nil
}

// previewCount checks the number of fire times that is asked for and reports what was
// found altogether.
func previewCount(r *domain.Rules, count *int) (int, error) {
	n := DefaultPreview
	domain.Set(&n, count)
	r.Check(n >= MinPreview, "count", domain.TooSmall, "must be at least %d, not %d", MinPreview, n)
	r.Check(n <= MaxPreview, "count", domain.TooLarge, "must be at most %d, not %d", MaxPreview, n)
	return n, r.Err("preview_invalid", "The preview is not valid.")
}

// preview lists the next n fire times of a trigger with the configuration that was
// activated at the time.
func (c Config) preview(activatedAt, now time.Time, n int) Preview {
	s, ok := c.Schedule(activatedAt)
	if !ok {
		return Preview{Reason: "The configuration has neither cron nor intervalMs in its scheduleConfig, so it never fires."}
	}
	p := Preview{Upcoming: s.Upcoming(now, n), Zone: time.UTC}
	if s.zone != nil {
		p.Zone = s.zone
	}
	switch last := " Nothing is due from " + endOfSchedules.Format(time.DateOnly) + " on."; {
	case len(p.Upcoming) == 0:
		p.Reason = "There is no fire time any more." + last
	case len(p.Upcoming) < n:
		p.Reason = "There are no more fire times than these." + last
	}
	return p
}

// ParentState is what has to hold besides the trigger being active for it to fire.
type ParentState struct {
	WorkflowActive bool
	VersionActive  bool // the version it is attached to is the published one that is active
}

// Preview lists the next fire times, 5 unless a count of 1 to 100 is given; another one
// is an Invalid error with the code preview_invalid. For a trigger that does not fire as
// things stand, they are those if that changed now.
func (t *Trigger) Preview(around ParentState, count *int, now time.Time) (Preview, error) {
	n, err := previewCount(&domain.Rules{}, count)
	if err != nil {
		return Preview{}, err
	}
	if t.state.Type != Scheduled {
		return Preview{Reason: "A trigger of type " + string(t.state.Type) + " fires when it is called, and has no schedule."}, nil
	}
	activatedAt := t.state.ActivatedAt
	if !t.state.Active {
		activatedAt = now
	}
	p := t.state.Config.preview(activatedAt, now, n)
	switch {
	case len(p.Upcoming) == 0:
	case !t.state.Active:
		p.Reason = "The trigger is inactive: none of these fires until it is activated."
	case !around.VersionActive:
		p.Reason = "The workflow version is not the active one: none of these fires until it is published."
	case !around.WorkflowActive:
		p.Reason = "The workflow is inactive: none of these fires until it is activated."
	}
	return p, nil
}
