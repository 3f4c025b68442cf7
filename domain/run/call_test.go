package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

func given(text string) *string { return &text }

// broken lists "field: code" of a call's error, which must be of the right kind and code.
func violations(t *testing.T, err error) (list []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Invalid || e.Code != "call_invalid" {
		t.Fatalf("the error is %v", err)
	}
	for _, v := range e.Violations {
		list = append(list, v.Field+": "+string(v.Code))
	}
	return list
}

func TestACallIsCheckedAsAWhole(t *testing.T) {
	long := strings.Repeat("é", 256)
	for claim, c := range map[string]struct {
		call run.Call
		want []string
	}{
		"nothing at all is fine":                           {run.Call{}, nil},
		"255 characters are fine":                          {run.Call{Entity: given(long[2:]), DedupeKey: given(long[2:])}, nil},
		"spaces and letters of any script are fine":        {run.Call{Entity: given("customer 7 – 東京")}, nil},
		"any JSON value is event data":                     {run.Call{EventData: json.RawMessage(` [1, "a", null] `)}, nil},
		"an entity in the event data may be anything else": {run.Call{EventData: json.RawMessage(`{"entityId":{"a":1}}`)}, nil},
		"texts must hold something":                        {run.Call{Entity: given(""), DedupeKey: given("")}, []string{"entityId: required", "dedupeKey: required"}},
		"texts must not be too long":                       {run.Call{Entity: given(long), DedupeKey: given(long)}, []string{"entityId: too_long", "dedupeKey: too_long"}},
		"texts must be printable":                          {run.Call{Entity: given("a\tb"), DedupeKey: given("a\x00")}, []string{"entityId: bad_character", "dedupeKey: bad_character"}},
		"texts must be UTF-8":                              {run.Call{Entity: given("a\xff")}, []string{"entityId: bad_character"}},
		"event data must be JSON":                          {run.Call{EventData: json.RawMessage(`{"a":`)}, []string{"eventData: bad_format"}},
		"event data must be one value":                     {run.Call{EventData: json.RawMessage(`1 2`)}, []string{"eventData: bad_format"}},
		"event data must be UTF-8":                         {run.Call{EventData: json.RawMessage("\"\xff\"")}, []string{"eventData: bad_format"}},
		"an entity that the event data names must be one":  {run.Call{EventData: json.RawMessage(`{"entityId":""}`)}, []string{"eventData.entityId: required"}},
		"a number of many digits is too long for one": {
			run.Call{EventData: json.RawMessage(`{"entityId":` + strings.Repeat("1", 256) + `}`)}, []string{"eventData.entityId: too_long"},
		},
		"one that is not taken may be anything": {run.Call{Entity: given("e"), EventData: json.RawMessage(`{"entityId":""}`)}, nil},
		"what could not be read is reported with the rest, and once": {
			run.Call{Malformed: []domain.Violation{{Field: "eventData", Code: domain.WrongType}, {Field: "entityId", Code: domain.WrongType}}, DedupeKey: given("")},
			[]string{"eventData: wrong_type", "entityId: wrong_type", "dedupeKey: required"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, violations(t, c.call.Check())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsOfOtherKindsAreCheckedAsAWholeToo(t *testing.T) {
	sub, many := tenant.SubTenantID("a\nb"), make([]run.ID, run.MaxNarrowing+1)
	everything := run.Call{Entity: given(""), EventData: json.RawMessage(`{`)}
	for claim, c := range map[string]struct {
		check func() error
		want  []string
	}{
		"an event needs a name": {run.EventCall{Call: everything}.Check, []string{"event: required", "eventData: bad_format", "entityId: required"}},
		"an event's name is bounded, and its segment printable": {
			run.EventCall{Event: strings.Repeat("e", 256), SubTenant: &sub}.Check, []string{"event: too_long", "subTenantId: bad_character"},
		},
		"an event that cannot be read is not missing as well": {
			run.EventCall{Call: run.Call{Malformed: []domain.Violation{{Field: "event", Code: domain.WrongType}}}}.Check, []string{"event: wrong_type"},
		},
		"an event is fine": {run.EventCall{Event: "order paid\n"}.Check, nil},
		"what narrows is bounded": {
			run.IngestCall{Options: run.ResumeOptions{Runs: many, Versions: make([]workflow.VersionID, 1001)}}.Check,
			[]string{"event: required", "resumeOptions.runIds: too_long", "resumeOptions.workflowVersionIds: too_long"},
		},
		"resuming needs a run and a token": {
			run.ResumeCall{Input: json.RawMessage(`x`)}.Check, []string{"runId: required", "resumeToken: required", "input: bad_format"},
		},
		"a token is bounded":       {run.ResumeCall{Run: "r", Token: strings.Repeat("t", 256)}.Check, []string{"resumeToken: too_long"}},
		"resuming is fine":         {run.ResumeCall{Run: "r", Token: "t", Input: json.RawMessage(`null`)}.Check, nil},
		"a reason is bounded":      {func() error { return run.CheckReason(strings.Repeat("r", 1001)) }, []string{"reason: too_long"}},
		"a reason may be left out": {func() error { return run.CheckReason("") }, nil},
		"a simulation has few enough answers": {
			run.SimulationCall{Answers: map[workflow.NodeID][]run.Answer{"a": make([]run.Answer, 5000), "b": {{}}}}.Check, []string{"answers: too_long"},
		},
		"what the world does in a simulation is possible": {
			run.SimulationCall{At: &time.Time{}, Answers: map[workflow.NodeID][]run.Answer{
				"b": {{}, {Output: json.RawMessage(`x`), After: -1}}, "a": {{Pause: &run.AttemptPaused{Event: "\x00", Timeout: -1}, Failure: &run.AttemptFailed{RetryAfter: -1}}},
			}}.Check,
			[]string{
				"startAt: not_allowed", "answers.a[0].pause.event: bad_character", "answers.a[0].pause.timeoutMs: too_small",
				"answers.a[0].error.retryAfterMs: too_small", "answers.b[1].output: bad_format", "answers.b[1].afterMs: too_small",
			},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, violations(t, c.check())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheEntityOfACall(t *testing.T) {
	for data, want := range map[string]string{
		``: "", `null`: "", `[{"entityId":"a"}]`: "", `{"entityid":"a"}`: "", `{"EntityId":"a"}`: "", `{"entityId":true}`: "", `{"entityId":null}`: "",
		`{"entityId":["a"]}`: "", `{"data":{"entityId":"a"}}`: "", `"entityId"`: "",
		`{"entityId":"a \u00e9"}`: "a é", `{"\u0065ntityId":"a"}`: "a", "\n {\"entityId\":\"a\"}": "a",
		`{"entityId":7}`: "7", `{"entityId":-1.50}`: "-1.50", `{"entityId":12345678901234567890}`: "12345678901234567890", `{"entityId":1e400}`: "1e400",
	} {
		got, ok := run.Call{EventData: json.RawMessage(data)}.EntityID()
		if got != want || ok != (want != "") {
			t.Errorf("of %s it is %q, %v", data, got, ok)
		}
		if got, ok := (run.Call{Entity: given("mine"), EventData: json.RawMessage(data)}).EntityID(); got != "mine" || !ok {
			t.Errorf("it is %q although the call names one", got)
		}
	}
}

func TestThePayloadIsTheEventData(t *testing.T) {
	for data, want := range map[string]string{``: `{}`, `null`: `null`, `{"a": 1.50}`: `{"a": 1.50}`} {
		if got := string(run.Call{EventData: json.RawMessage(data)}.Payload()); got != want {
			t.Errorf("of %s it is %s", data, got)
		}
	}
}

func TestWhyACallOrAScheduleCannotFire(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	can := trigger.ParentState{WorkflowActive: true, VersionActive: true}
	for _, c := range []struct {
		kind     trigger.Type
		active   bool
		around   trigger.ParentState
		code     string
		schedule string
	}{
		{trigger.Webhook, true, can, "", ""},
		{trigger.Webhook, false, trigger.ParentState{}, "trigger_inactive", "The trigger is inactive."},
		{trigger.Webhook, true, trigger.ParentState{}, "workflow_inactive", "The workflow is inactive."},
		{trigger.Webhook, true, trigger.ParentState{WorkflowActive: true}, "version_not_active", "version_not_active"},
		{trigger.Scheduled, false, trigger.ParentState{}, "trigger_not_webhook", "The trigger is inactive."},
		{trigger.Scheduled, true, can, "trigger_not_webhook", ""},
	} {
		trg := trigger.Restore(trigger.State{Type: c.kind, Active: c.active, CreatedAt: at})
		var e *domain.Error
		if err := run.CheckCall(trg, c.around); errors.As(err, &e) != (c.code != "") || e != nil && (e.Code != c.code || e.Kind != domain.Conflict) {
			t.Errorf("%+v: %v", c, err)
		}
		if got := run.CannotFire(trg, "wf_1", c.around); got != c.schedule {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := run.CannotFire(trigger.Restore(trigger.State{Active: true}), "", can); got != "The trigger is being deleted." {
		t.Error(got)
	}
}

func TestACallSaysWhichRunsItMayResume(t *testing.T) {
	r := run.Restore(run.State{Origin: run.Origin{ID: "r", Version: "v", SubTenant: "team"}})
	for _, c := range []struct {
		options run.ResumeOptions
		want    bool
	}{
		{run.ResumeOptions{}, true}, {run.ResumeOptions{Runs: []run.ID{}, Versions: []workflow.VersionID{}}, true},
		{run.ResumeOptions{Runs: []run.ID{"q", "r"}}, true}, {run.ResumeOptions{Runs: []run.ID{"q"}}, false},
		{run.ResumeOptions{Versions: []workflow.VersionID{"v"}}, true}, {run.ResumeOptions{Runs: []run.ID{"r"}, Versions: []workflow.VersionID{"w"}}, false},
	} {
		if (run.IngestCall{Options: c.options}).Matches(awaitingOf(r)) != c.want {
			t.Errorf("%+v", c)
		}
	}
	for sub, want := range map[tenant.SubTenantID]bool{"team": true, "others": false} {
		if (run.IngestCall{EventCall: run.EventCall{SubTenant: &sub}}).Matches(awaitingOf(r)) != want {
			t.Errorf("of the segment %s: %v", sub, !want)
		}
	}
}

// Whatever a caller sends, what passes the check can be kept by any store: texts are
// short, printable and UTF-8, and the payload is one JSON value.
func FuzzCall(f *testing.F) {
	for _, data := range []string{``, `{}`, `{"entityId":7}`, `{"entityId":"\u0000"}`, `{"entityId":"\ud800"}`, `[`, `{"a":1,"a":2}`, "\xff", `{"entityId":"a"} x`, `{"\u0065ntityId":1e5}`} {
		f.Add(data, "entity", "key", "event")
	}
	f.Add(`{}`, "a\x00", "\u202e", strings.Repeat("e", 300))
	f.Fuzz(func(t *testing.T, data, entity, key, event string) {
		calls := []run.Call{{EventData: json.RawMessage(data)}, {EventData: json.RawMessage(data), Entity: &entity, DedupeKey: &key}}
		for _, c := range calls {
			err := run.EventCall{Call: c, Event: event}.Check()
			violations(t, err)
			if again := (run.EventCall{Call: c, Event: event}).Check(); fmt.Sprint(err) != fmt.Sprint(again) {
				t.Errorf("%v, then %v", err, again)
			}
			if err != nil {
				continue
			}
			texts := []string{event}
			if id, ok := c.EntityID(); ok {
				texts = append(texts, id)
			}
			if c.DedupeKey != nil {
				texts = append(texts, *c.DedupeKey)
			}
			if !json.Valid(c.Payload()) || !utf8.Valid(c.Payload()) {
				t.Errorf("the payload is %q", c.Payload())
			}
			if slices.ContainsFunc(texts, func(s string) bool {
				n := utf8.RuneCountInString(s)
				return n < 1 || n > 255 || !utf8.ValidString(s) || strings.Contains(s, "\x00")
			}) {
				t.Errorf("the texts are %q", texts)
			}
		}
	})
}

func TestACallThatKnowsNoneOfItsMembersSaysWhereThePayloadBelongs(t *testing.T) {
	err := run.Call{OnlyUnknownMembers: true}.Check()
	var refused *domain.Error
	if !errors.As(err, &refused) || refused.Code != "event_data_missing" || len(refused.Violations) != 1 || refused.Violations[0].Field != "eventData" {
		t.Errorf("it is answered with %v", err)
	}
	if err := (run.Call{}).Check(); err != nil {
		t.Errorf("a call without members is answered with %v", err)
	}
}
