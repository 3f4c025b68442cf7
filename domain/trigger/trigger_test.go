package trigger_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// jsonNumber spells a whole number in one of the ways that JSON permits.
func jsonNumber(t *rapid.T, n int64) string {
	text := strconv.FormatInt(n, 10)
	spellings := []string{text, text + ".000", text + "e0"}
	if n != 0 {
		spellings = append(spellings, text+"0E-1", text+"00e-2")
	}
	return rapid.SampledFrom(spellings).Draw(t, "spelling")
}

const (
	id    = trigger.ID("trg_01kg2m8qpefx4tsjvnb6ax0c9d")
	owner = tenant.ID("tenant_01kg2m8qpefx4tsjvnb6ax0c9e")
	ver   = "wfv_01kg2m8qpefx4tsjvnb6ax0c9f"
)

var (
	created = at("2026-05-01T10:00:00Z")
	later   = at("2026-05-02T11:30:00Z")
)

func document(text string) *domain.Document {
	doc := domain.RestoreDocument(text)
	return &doc
}

func draft(change func(d *trigger.Draft)) trigger.Draft {
	d := trigger.Draft{Version: ver, Name: "Morning report", Type: trigger.Scheduled, Config: document(`{"scheduleConfig":{"cron":"0 8 * * *"}}`)}
	if change != nil {
		change(&d)
	}
	return d
}

func around() trigger.References {
	return trigger.References{VersionExists: true, SubTenant: "acme"}
}

// knows are settings that list events.
func knows(events ...string) tenant.Settings {
	var s tenant.Settings
	for _, name := range events {
		s.Events = append(s.Events, tenant.Event{Name: name})
	}
	return s
}

func mustNew(t testing.TB, d trigger.Draft) *trigger.Trigger {
	t.Helper()
	trg, err := trigger.New(id, owner, around(), d, created)
	if err != nil {
		t.Fatal(err)
	}
	return trg
}

func TestANewTriggerHoldsWhatWasSent(t *testing.T) {
	no := false
	trg := mustNew(t, draft(func(d *trigger.Draft) { d.Active = &no }))
	want := trigger.State{
		ID: id, Tenant: owner, SubTenant: "acme", Version: ver, Name: "Morning report", Type: trigger.Scheduled,
		Config: trigger.RestoreConfig(`{"scheduleConfig":{"cron":"0 8 * * *"}}`), Active: false, ActivatedAt: created, CreatedAt: created, UpdatedAt: created, Revision: 1,
	}
	if diff := cmp.Diff(want, trg.State()); diff != "" {
		t.Error(diff)
	}
	restored := trigger.Restore(want)
	shown := trigger.State{
		ID: restored.ID(), Tenant: restored.Tenant(), SubTenant: restored.SubTenant(), Version: restored.Version(), Name: restored.Name(),
		Type: restored.Type(), Config: restored.Config(), Active: restored.Active(), ActivatedAt: restored.ActivatedAt(), CreatedAt: restored.CreatedAt(),
		UpdatedAt: restored.UpdatedAt(), Revision: restored.Revision(),
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the accessors: %s", diff)
	}
}

func TestANewTriggerIsActiveUnlessItSaysOtherwise(t *testing.T) {
	yes := true
	for _, active := range []*bool{nil, &yes} {
		if !mustNew(t, draft(func(d *trigger.Draft) { d.Active = active })).Active() {
			t.Errorf("%v makes it inactive", active)
		}
	}
}

// reports renders violations one a line: the field, the code and the message.
func reports(found []domain.Violation) string {
	var b strings.Builder
	for _, v := range found {
		b.WriteString(v.Field + " [" + string(v.Code) + "] " + v.Message + "\n")
	}
	return b.String()
}

// violations takes the report out of an error that must be a trigger's.
func violations(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Invalid || e.Code != "trigger_invalid" {
		t.Fatalf("the error is %v", err)
	}
	return reports(e.Violations)
}

func TestRefusedTriggersSayEverythingThatIsWrong(t *testing.T) {
	wrong := func(field string) domain.Violation {
		return domain.Violation{Field: field, Code: domain.WrongType, Message: "must be something else"}
	}
	for claim, c := range map[string]struct {
		draft trigger.Draft
		want  string
	}{
		"nothing was sent": {trigger.Draft{}, "workflowVersionId [required] must not be empty\n" +
			"name [required] must not be empty\n" +
			"type [required] must be \"schedule\" or \"webhook\"\n" +
			"config [required] must be given; it may be an empty object\n"},
		"everything is wrong": {
			trigger.Draft{Version: "other", Name: strings.Repeat("n", 256), Type: "cron", Config: document(`{"timeoutMs":1,"webhookConfig":{"event":"paid"}}`)},
			"workflowVersionId [unknown] does not exist; it must be the id of one of your workflow versions\n" +
				"name [too_long] must be at most 255 characters long, not 256\n" +
				"type [not_allowed] must be \"schedule\" or \"webhook\", not \"cron\"\n" +
				"config.timeoutMs [too_small] must be at least 1000, not 1\n" +
				"config.webhookConfig.event [unknown] must be one of the events in your settings; there is no \"paid\"\n",
		},
		"what had the wrong type is not missing as well": {
			trigger.Draft{Malformed: []domain.Violation{wrong("workflowVersionId"), wrong("name"), wrong("type"), wrong("config"), wrong("isActive")}},
			"workflowVersionId [wrong_type] must be something else\n" + "name [wrong_type] must be something else\n" +
				"type [wrong_type] must be something else\n" + "config [wrong_type] must be something else\n" + "isActive [wrong_type] must be something else\n",
		},
		"neither is what holds something of the wrong type": {
			trigger.Draft{Version: "x", Name: "x", Type: trigger.Webhook, Malformed: []domain.Violation{wrong("config.a"), wrong("configuration"), wrong("type[0]"), wrong("names")}},
			"config.a [wrong_type] must be something else\n" + "configuration [wrong_type] must be something else\n" +
				"type[0] [wrong_type] must be something else\n" + "names [wrong_type] must be something else\n" +
				"workflowVersionId [unknown] does not exist; it must be the id of one of your workflow versions\n",
		},
		"a member whose name only begins alike is another": {
			trigger.Draft{Malformed: []domain.Violation{wrong("configuration"), wrong("names"), wrong("type[0]")}},
			"configuration [wrong_type] must be something else\n" + "names [wrong_type] must be something else\n" +
				"type[0] [wrong_type] must be something else\n" + "workflowVersionId [required] must not be empty\n" +
				"name [required] must not be empty\n" + "config [required] must be given; it may be an empty object\n",
		},
		"a request of the wrong type lacks nothing": {
			trigger.Draft{Malformed: []domain.Violation{wrong("")}}, " [wrong_type] must be something else\n",
		},
		"what a configuration of the wrong type holds is not looked at": {
			draft(func(d *trigger.Draft) {
				d.Version, d.Config, d.Malformed = "", document(`{"timeoutMs":1,"webhookConfig":{"event":"paid"}}`), []domain.Violation{wrong("config")}
			}),
			"config [wrong_type] must be something else\n" + "workflowVersionId [required] must not be empty\n",
		},
		"a part of the wrong type does not hide the others": {
			draft(func(d *trigger.Draft) {
				d.Version, d.Config, d.Malformed = "", document(`{"timeoutMs":1,"rateLimit":1}`), []domain.Violation{wrong("config.rateLimit")}
			}),
			"config.rateLimit [wrong_type] must be something else\n" + "workflowVersionId [required] must not be empty\n" +
				"config.timeoutMs [too_small] must be at least 1000, not 1\n",
		},
		"errors of type and of rule come together": {
			trigger.Draft{Name: "x", Type: "x", Malformed: []domain.Violation{wrong("workflowVersionId")}, Config: document(`{"timeoutMs":true}`)},
			"workflowVersionId [wrong_type] must be something else\n" + "type [not_allowed] must be \"schedule\" or \"webhook\", not \"x\"\n" +
				"config.timeoutMs [wrong_type] must be a number, not a boolean\n",
		},
	} {
		t.Run(claim, func(t *testing.T) {
			trg, err := trigger.New(id, owner, trigger.References{Settings: knows("ordered")}, c.draft, created)
			if diff := cmp.Diff(c.want, violations(t, err)); diff != "" || trg != nil {
				t.Errorf("%v %s", trg, diff)
			}
		})
	}
}

func TestEventsMustBeKnownWhereTheTenantListsThem(t *testing.T) {
	listens := draft(func(d *trigger.Draft) {
		d.Type, d.Config = trigger.Webhook, document(`{"webhookConfig":{"event":"ordered"}}`)
	})
	for _, settings := range []tenant.Settings{{}, knows("paid", "ordered")} {
		if _, err := trigger.New(id, owner, trigger.References{VersionExists: true, Settings: settings}, listens, created); err != nil {
			t.Errorf("with %v: %v", settings, err)
		}
	}
}

// The members for the other type are ignored, wherever they come from.
func TestATriggerHeedsWhatBelongsToItsType(t *testing.T) {
	const both = `{"webhookConfig":{"event":"paid"},"scheduleConfig":{"intervalMs":60000}}`
	for kind, want := range map[trigger.Type]struct {
		event string
		due   []time.Time
	}{
		trigger.Webhook:   {event: "paid"},
		trigger.Scheduled: {due: []time.Time{created.Add(time.Minute)}},
	} {
		trg := mustNew(t, draft(func(d *trigger.Draft) { d.Type, d.Config = kind, document(both) }))
		event, listens := trg.Event()
		s, scheduled := trg.Schedule()
		var due []time.Time
		for _, o := range s.Upcoming(created, 1) {
			due = append(due, o.At)
		}
		if diff := cmp.Diff(want.due, due); diff != "" || event != want.event || listens != (event != "") || scheduled != (due != nil) {
			t.Errorf("%s: %q %v %v %s", kind, event, listens, scheduled, diff)
		}
	}
}

func TestARevisionChangesWhatItNames(t *testing.T) {
	name, no := "Evening", false
	for claim, c := range map[string]struct {
		patch trigger.Patch
		want  func(s *trigger.State)
	}{
		"nothing":            {trigger.Patch{}, func(*trigger.State) {}},
		"what it was before": {trigger.Patch{Name: new("Morning report"), Active: new(true), Config: document(`{"scheduleConfig":{"cron":"0 8 * * *"}}`)}, func(*trigger.State) {}},
		"the name":           {trigger.Patch{Name: &name}, func(s *trigger.State) { s.Name, s.UpdatedAt = name, later }},
		"the activity":       {trigger.Patch{Active: &no}, func(s *trigger.State) { s.Active, s.UpdatedAt = false, later }},
		"the configuration": {trigger.Patch{Config: document(`{"scheduleConfig": {"cron":"0 8 * * *"}}`)}, func(s *trigger.State) {
			s.Config, s.UpdatedAt = trigger.RestoreConfig(`{"scheduleConfig": {"cron":"0 8 * * *"}}`), later
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			trg := mustNew(t, draft(nil))
			want := trg.State()
			c.want(&want)
			if err := trg.Revise(c.patch, tenant.Settings{}, later); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, trg.State()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAScheduleIsNotAskedForItsEvent(t *testing.T) {
	trg := mustNew(t, draft(nil))
	config := `{"webhookConfig":{"event":"paid"}}`
	if err := trg.Revise(trigger.Patch{Config: document(config)}, knows("ordered"), later); err != nil || trg.Config().Document().String() != config {
		t.Errorf("%v, the configuration is %s", err, trg.Config().Document())
	}
}

func TestARefusedRevisionChangesNothing(t *testing.T) {
	trg := mustNew(t, draft(func(d *trigger.Draft) { d.Type = trigger.Webhook }))
	before := trg.State()
	err := trg.Revise(trigger.Patch{
		Name: new(""), Config: document(`{"webhookConfig":{"event":"paid"},"timeoutMs":1}`), Active: new(false),
		Malformed: []domain.Violation{{Field: "isActive", Code: domain.WrongType, Message: "must be a boolean"}},
	}, knows("ordered"), later)
	want := "isActive [wrong_type] must be a boolean\n" + "name [required] must not be empty\n" +
		"config.timeoutMs [too_small] must be at least 1000, not 1\n" +
		"config.webhookConfig.event [unknown] must be one of the events in your settings; there is no \"paid\"\n"
	if diff := cmp.Diff(want, violations(t, err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, trg.State()); diff != "" {
		t.Error(diff)
	}
}

// A stored trigger may break a rule that came later; what a patch leaves alone is not
// held against it.
func TestARevisionDoesNotLookAtWhatItLeavesAlone(t *testing.T) {
	trg := trigger.Restore(trigger.State{ID: id, Type: trigger.Webhook, Config: trigger.RestoreConfig(`{"webhookConfig":{"event":"gone"},"timeoutMs":1}`)})
	if err := trg.Revise(trigger.Patch{Active: new(true)}, knows("paid"), later); err != nil || !trg.Active() {
		t.Errorf("it is active: %v, %v", trg.Active(), err)
	}
}

func TestOnlyAStoreRaisesTheRevision(t *testing.T) {
	trg := mustNew(t, draft(nil))
	if err := trg.Revise(trigger.Patch{Name: new("x")}, tenant.Settings{}, later); err != nil || trg.Revision() != 1 {
		t.Errorf("the revision is %d, %v", trg.Revision(), err)
	}
	if trg.Saved(); trg.Revision() != 2 {
		t.Errorf("the revision is %d once it is stored", trg.Revision())
	}
}

func TestTypesAndSortFields(t *testing.T) {
	for kind, want := range map[trigger.Type]bool{"schedule": true, "webhook": true, "": false, "Schedule": false, "cron": false} {
		if kind.Valid() != want {
			t.Errorf("%q is a type: %v", kind, kind.Valid())
		}
	}
	if diff := cmp.Diff([]trigger.Type{"schedule", "webhook"}, trigger.Types()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"name", "type", "createdAt", "updatedAt"}, trigger.SortFields()); diff != "" {
		t.Error(diff)
	}
}
