package trigger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

var fires = trigger.ParentState{WorkflowActive: true, VersionActive: true}

// times renders a preview: the local times with their shifts, and the reason.
func times(p trigger.Preview) string {
	var all []string
	for _, o := range p.Upcoming {
		all = append(all, strings.TrimSpace(o.At.In(p.Zone).Format("02 15:04 -0700 ")+string(o.Shift)))
	}
	return strings.Join(all, ", ") + " | " + p.Reason
}

func TestAPreviewListsWhatATriggerDoesNext(t *testing.T) {
	const berlin = `{"scheduleConfig":{"cron":"30 2 * * *","timezone":"Europe/Berlin"}}`
	const never = "The configuration has neither cron nor intervalMs in its scheduleConfig, so it never fires."
	no := false
	for claim, c := range map[string]struct {
		config string
		kind   trigger.Type
		active *bool
		around trigger.ParentState
		now    string
		want   string
	}{
		"across a change of the clocks": {berlin, trigger.Scheduled, nil, fires, "2026-03-27T12:00:00Z", "28 02:30 +0100, 29 03:00 +0200 gap | "},
		"an interval from the activation": {
			`{"scheduleConfig":{"intervalMs":5400000,"timezone":"Asia/Tokyo"}}`, trigger.Scheduled, nil, fires, "2026-05-01T12:00:00Z", "01 13:00 +0000, 01 14:30 +0000 | ",
		},
		"an interval of an inactive trigger": {
			`{"scheduleConfig":{"intervalMs":5400000}}`, trigger.Scheduled, &no, fires, "2026-05-01T12:00:00Z",
			"01 13:30 +0000, 01 15:00 +0000 | The trigger is inactive: none of these fires until it is activated.",
		},
		"a version that is not the active one": {
			berlin, trigger.Scheduled, nil, trigger.ParentState{WorkflowActive: true}, "2026-05-01T12:00:00Z",
			"02 02:30 +0200, 03 02:30 +0200 | The workflow version is not the active one: none of these fires until it is published.",
		},
		"an inactive workflow": {
			berlin, trigger.Scheduled, nil, trigger.ParentState{VersionActive: true}, "2026-05-01T12:00:00Z",
			"02 02:30 +0200, 03 02:30 +0200 | The workflow is inactive: none of these fires until it is activated.",
		},
		"no schedule":                          {`{}`, trigger.Scheduled, nil, fires, "2026-05-01T12:00:00Z", " | " + never},
		"no schedule, and inactive":            {`{"scheduleConfig":{}}`, trigger.Scheduled, &no, trigger.ParentState{}, "2026-05-01T12:00:00Z", " | " + never},
		"a webhook with a schedule":            {berlin, trigger.Webhook, nil, fires, "2026-05-01T12:00:00Z", " | A trigger of type webhook fires when it is called, and has no schedule."},
		"a day that comes every fourth year":   {`{"scheduleConfig":{"cron":"0 0 29 2 *"}}`, trigger.Scheduled, nil, fires, "2026-05-01T12:00:00Z", "29 00:00 +0000, 29 00:00 +0000 | "},
		"the reason of the trigger goes first": {berlin, trigger.Scheduled, &no, trigger.ParentState{}, "2026-05-01T12:00:00Z", "02 02:30 +0200, 03 02:30 +0200 | The trigger is inactive: none of these fires until it is activated."},
	} {
		t.Run(claim, func(t *testing.T) {
			trg := mustNew(t, draft(func(d *trigger.Draft) { d.Config, d.Type, d.Active = document(c.config), c.kind, c.active }))
			p, err := trg.Preview(c.around, new(2), at(c.now))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, times(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADraftIsPreviewedAsIfItWereActivatedNow(t *testing.T) {
	p, err := trigger.NewPreview(trigger.PreviewDraft{Config: document(`{"scheduleConfig":{"intervalMs":60000}}`)}, created)
	if err != nil || len(p.Upcoming) != trigger.DefaultPreview || !p.Upcoming[0].At.Equal(created.Add(time.Minute)) || p.Zone != time.UTC || p.Reason != "" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNothingIsDueAfterTheYear9999(t *testing.T) {
	const century = `{"scheduleConfig":{"intervalMs":3153600000000}}`
	for claim, c := range map[string]struct {
		config, now string
		count       int
		fires       int
		last        string
		reason      string
	}{
		"every hundred years":              {century, "2026-01-01T00:00:00Z", 100, 79, "9920-10-04T00:00:00.000Z", "There are no more fire times than these. Nothing is due from 9999-12-31 on."},
		"the last minutes of the last day": {`{"scheduleConfig":{"cron":"* * * * *","timezone":"Pacific/Kiritimati"}}`, "9999-12-30T23:57:00Z", 5, 2, "9999-12-30T23:59:00.000Z", "There are no more fire times than these. Nothing is due from 9999-12-31 on."},
		"a named hour of the last day":     {`{"scheduleConfig":{"cron":"0 12 * * *"}}`, "9999-12-29T13:00:00Z", 5, 1, "9999-12-30T12:00:00.000Z", "There are no more fire times than these. Nothing is due from 9999-12-31 on."},
		"just as many as there are":        {`{"scheduleConfig":{"cron":"0 12 * * *"}}`, "9999-12-29T13:00:00Z", 1, 1, "9999-12-30T12:00:00.000Z", ""},
		"none before the end":              {century, "9950-01-01T00:00:00Z", 5, 0, "", "There is no fire time any more. Nothing is due from 9999-12-31 on."},
		"the end has come":                 {`{"scheduleConfig":{"cron":"* * * * *"}}`, "9999-12-31T00:00:00Z", 5, 0, "", "There is no fire time any more. Nothing is due from 9999-12-31 on."},
		"long after the end":               {`{"scheduleConfig":{"intervalMs":60000}}`, "9999-12-31T23:59:59Z", 5, 0, "", "There is no fire time any more. Nothing is due from 9999-12-31 on."},
	} {
		p, err := trigger.NewPreview(trigger.PreviewDraft{Config: document(c.config), Count: &c.count}, at(c.now))
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for _, o := range p.Upcoming {
			last = o.At.Format("2006-01-02T15:04:05.000Z")
			if local := o.At.In(p.Zone).Format(time.RFC3339); len(last) != 24 || local[4] != '-' {
				t.Errorf("%s: %s, %s", claim, last, local)
			}
		}
		if len(p.Upcoming) != c.fires || last != c.last || p.Reason != c.reason {
			t.Errorf("%s: %d fire times until %s: %s", claim, len(p.Upcoming), last, p.Reason)
		}
	}
}

func TestAPreviewThatBreaksRulesIsRefused(t *testing.T) {
	const few, many, missing = "count [too_small] must be at least 1, not 0\n", "count [too_large] must be at most 100, not 101\n",
		"config [required] must be given: the configuration of a trigger\n"
	wrong := []domain.Violation{{Field: "config", Message: "must be an object, not an array", Code: domain.WrongType}}
	for claim, c := range map[string]struct {
		d    trigger.PreviewDraft
		want string
	}{
		"nothing":                         {trigger.PreviewDraft{}, missing},
		"too few":                         {trigger.PreviewDraft{Config: document(`{}`), Count: new(0)}, few},
		"too many":                        {trigger.PreviewDraft{Config: document(`{}`), Count: new(101)}, many},
		"all of it":                       {trigger.PreviewDraft{Count: new(0)}, missing + few},
		"a configuration of another type": {trigger.PreviewDraft{Malformed: wrong}, "config [wrong_type] must be an object, not an array\n"},
		"a wrong expression": {
			trigger.PreviewDraft{Config: document(`{"scheduleConfig":{"cron":"0 0 30 2 *"}}`)},
			"config.scheduleConfig.cron [bad_format] never fires: no month named \"2\" has a day \"30\"\n",
		},
	} {
		t.Run(claim, func(t *testing.T) {
			_, err := trigger.NewPreview(c.d, created)
			refused(t, err, c.want)
		})
	}
	trg := mustNew(t, draft(nil))
	for count, want := range map[int]string{0: few, 101: many} {
		_, err := trg.Preview(fires, &count, created)
		refused(t, err, want)
	}
	for _, count := range []int{trigger.MinPreview, trigger.MaxPreview} {
		if p, err := trg.Preview(fires, &count, created); err != nil || len(p.Upcoming) != count {
			t.Errorf("%d: %d, %v", count, len(p.Upcoming), err)
		}
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != "preview_invalid" || e.Kind != domain.Invalid {
		t.Fatalf("the error is %v", err)
	}
	if diff := cmp.Diff(want, reports(e.Violations)); diff != "" {
		t.Error(diff)
	}
}

func TestAFireTellsTheRunWhenItWasDue(t *testing.T) {
	f, err := trigger.NewFire(owner, id, trigger.PlannedFire{At: created, Outcome: trigger.Late, Reason: "fired late"}, "run_1", created.Add(7*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"triggerId":"trg_01kg2m8qpefx4tsjvnb6ax0c9d","scheduledAt":"2026-05-01T10:00:00.000Z","firedAt":"2026-05-01T10:00:07.000Z"}`
	if got := f.Payload().String(); got != want {
		t.Errorf("the payload is %s", got)
	}
	state := f.State()
	shown := trigger.FireState{Trigger: f.Trigger(), Tenant: f.Tenant(), At: f.At(), Outcome: f.Outcome(), Reason: f.Reason(), RunID: f.RunID(), RecordedAt: f.RecordedAt()}
	if diff := cmp.Diff(state, shown); diff != "" {
		t.Errorf("the accessors: %s", diff)
	}
	missed := state
	missed.Outcome = trigger.CaughtUp
	late := trigger.RestoreFire(missed)
	late.Suppress("there is nothing to run")
	if got := late.Reason(); got != "missed while nothing could fire, and not caught up: there is nothing to run" {
		t.Errorf("of one that was missed it says %s", got)
	}
	f.Suppress("there is nothing to run")
	state.Outcome, state.Reason, state.RunID = trigger.Suppressed, "there is nothing to run", ""
	if diff := cmp.Diff(state, f.State()); diff != "" {
		t.Error(diff)
	}
}
