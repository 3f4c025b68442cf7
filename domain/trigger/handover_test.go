package trigger_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestWhoDecidesWhetherTriggersAreLeftBehind(t *testing.T) {
	move, leave := tenant.MoveTriggers, tenant.LeaveTriggers
	for claim, c := range map[string]struct {
		asked   *tenant.TriggersOnPublish
		setting tenant.TriggersOnPublish
		hasOwn  bool
		want    trigger.LeftBehindReason
	}{
		"they move along":     {nil, "", false, ""},
		"the settings say so": {nil, move, false, ""},
		"a version with triggers of its own gets no others":   {nil, move, true, trigger.LeftBehindForOwn},
		"the settings leave them":                             {nil, leave, false, trigger.LeftBehindBySettings},
		"the settings, before what the version has":           {nil, leave, true, trigger.LeftBehindBySettings},
		"a request moves them":                                {&move, leave, false, ""},
		"a request moves them to a version that has others":   {&move, move, true, ""},
		"a request leaves them":                               {&leave, move, false, trigger.LeftBehindByRequest},
		"a request leaves them, before what the version has":  {&leave, move, true, trigger.LeftBehindByRequest},
		"a request moves them, whatever else there is to say": {&move, leave, true, ""},
	} {
		if got := (trigger.PublishOptions{Triggers: c.asked}).WhyLeftBehind(tenant.Settings{TriggersOnPublish: c.setting}, c.hasOwn); got != c.want {
			t.Errorf("%s: %q, not %q", claim, got, c.want)
		}
	}
}

func TestWhatIsSaidOfTriggersIsChecked(t *testing.T) {
	other := tenant.TriggersOnPublish("copy")
	err := trigger.PublishOptions{Triggers: &other, Malformed: []domain.Violation{{Field: "a", Code: domain.WrongType, Message: "must be b"}}}.Check()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != "publish_invalid" ||
		reports(e.Violations) != "a [wrong_type] must be b\ntriggers [not_allowed] must be \"move\" or \"leave\", not \"copy\"\n" {
		t.Errorf("%v", err)
	}
}

func TestATriggerIsAttachedToAnotherVersionAsItIs(t *testing.T) {
	to := trigger.Target{Version: "wfv_2", Exists: true, SameWorkflow: true}
	trg := mustNew(t, draft(nil))
	trg.MarkLeftBehind(created)
	want := trg.State()
	if err := trg.Revise(trigger.Patch{Target: &trigger.Target{Version: ver}}, tenant.Settings{}, later); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, trg.State()); diff != "" {
		t.Errorf("attached to its own version: %s", diff)
	}
	if err := trg.Revise(trigger.Patch{Target: &to}, tenant.Settings{}, later); err != nil {
		t.Fatal(err)
	}
	want.Version, want.LeftAt, want.UpdatedAt = "wfv_2", nil, later
	if diff := cmp.Diff(want, trg.State()); diff != "" {
		t.Error(diff)
	}
	for version, c := range map[workflow.VersionID]struct {
		target trigger.Target
		want   string
	}{
		"":        {trigger.Target{}, "workflowVersionId [required] must not be empty\n"},
		"unknown": {trigger.Target{}, "workflowVersionId [unknown] does not exist; it must be the id of one of your workflow versions\n"},
		"other":   {trigger.Target{Exists: true}, "workflowVersionId [not_allowed] must be a version of the workflow that the trigger belongs to\n"},
	} {
		c.target.Version = version
		if diff := cmp.Diff(c.want, violations(t, trg.Revise(trigger.Patch{Target: &c.target, Name: new("Changed")}, tenant.Settings{}, later))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, trg.State()); diff != "" {
			t.Errorf("refused, and changed: %s", diff)
		}
	}
}

func TestWhatIsLeftBehindStaysSo(t *testing.T) {
	trg := mustNew(t, draft(nil))
	if trg.LeftBehind() {
		t.Error("a new trigger is left behind")
	}
	trg.MarkLeftBehind(created)
	trg.MarkLeftBehind(later)
	if at := trg.State().LeftAt; !trg.LeftBehind() || at == nil || !at.Equal(created) {
		t.Errorf("it was left at %v", at)
	}
}

// What was missed and would not have been caught up is skipped, as it would have been.
func TestTheAgendaOfAScheduleThatWasLeftBehindStartsNothing(t *testing.T) {
	trg := withConfig(t, `{"scheduleConfig":{"cron":"0 * * * *"}}`)
	trg.MarkLeftBehind(later)
	got := trg.DueWork(at("2026-05-01T10:00:00Z"), at("2026-05-01T13:00:00Z"), 9)
	const missed = "missed while nothing could fire; only the latest one may start a run"
	want := trigger.DueWork{
		Plan: []trigger.PlannedFire{
			{At: at("2026-05-01T11:00:00Z"), Outcome: trigger.Skipped, Reason: missed},
			{At: at("2026-05-01T12:00:00Z"), Outcome: trigger.Skipped, Reason: missed},
			{At: at("2026-05-01T13:00:00Z"), Outcome: trigger.Suppressed, Reason: "version_not_active"},
		},
		ProcessedUntil: at("2026-05-01T13:00:00Z"), Next: at("2026-05-01T14:00:00Z"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTriggersAreFiredTogetherByWhatIsTheSame(t *testing.T) {
	for config, want := range map[string]struct {
		kind trigger.Type
		by   string
	}{
		`{"webhookConfig":{"event":"paid"},"scheduleConfig":{"cron":"0 8 * * *"}}`:        {trigger.Webhook, `the event "paid"`},
		`{"scheduleConfig":{"cron":"0 8 * * *"}}`:                                         {trigger.Webhook, ""},
		`{"scheduleConfig":{"cron":" 0  0 * * * ","timezone":"Europe/Berlin"}}`:           {trigger.Scheduled, `the cron expression "0 0 * * *" in Europe/Berlin`},
		`{"scheduleConfig":{"cron":"@daily","timezone":"Europe/Berlin","catchUp":"all"}}`: {trigger.Scheduled, `the cron expression "0 0 * * *" in Europe/Berlin`},
		`{"webhookConfig":{"event":"paid"},"scheduleConfig":{"cron":"0 0 * * *"}}`:        {trigger.Scheduled, `the cron expression "0 0 * * *" in UTC`},
		`{"scheduleConfig":{"intervalMs":90000}}`:                                         {trigger.Scheduled, "an interval of 1m30s"},
		`{"webhookConfig":{"event":"paid"}}`:                                              {trigger.Scheduled, ""},
		`{}`:                                                                              {trigger.Scheduled, ""},
	} {
		trg := mustNew(t, draft(func(d *trigger.Draft) { d.Type, d.Config = want.kind, document(config) }))
		if got := trg.FiredBy(); got != want.by {
			t.Errorf("a %s with %s: %q, not %q", want.kind, config, got, want.by)
		}
		if err := trg.Revise(trigger.Patch{Active: new(false)}, tenant.Settings{}, later); err != nil || trg.FiredBy() != "" {
			t.Errorf("an inactive one is fired by %q, %v", trg.FiredBy(), err)
		}
	}
}
