package run

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Bounds of what a caller brings: texts in characters, lists in elements.
const (
	MaxEntity    = 255  // entityId
	MaxDedupeKey = 255  // dedupeKey
	MaxEvent     = 255  // event, as a trigger's configuration has it
	MaxToken     = 255  // resumeToken
	MaxNarrowing = 1000 // runIds and workflowVersionIds of resumeOptions
	MaxAnswers   = 5000 // answers of a simulation, over all nodes
	maxSubTenant = 255
)

// The virtual clock of a simulation begins in these years, so that no pause leads it
// beyond those that can be written.
const minYear, maxYear = 1970, 9000

const callInvalid, callInvalidMessage = "call_invalid", "The call is not valid."

// Check returns what is wrong with the call, all of it at once, as Invalid with the
// code call_invalid, or event_data_missing where the payload stands in the wrong place.
func (c Call) Check() error {
	if c.OnlyUnknownMembers {
		var r domain.Rules
		r.Check(false, "eventData", domain.Required, "must hold the payload: a call knows none of the members that were sent in its place")
		return r.Err("event_data_missing", "The call has no eventData.")
	}
	return c.check(nil)
}

func (c Call) check(more func(*domain.Rules)) error {
	var r domain.Rules
	r.Add(c.Malformed...)
	if more != nil {
		more(&r)
	}
	if !r.Broken("eventData") {
		c.checkData(&r)
	}
	if c.Entity != nil {
		checkPrintable(&r, *c.Entity, "entityId", MaxEntity)
	}
	if c.DedupeKey != nil {
		checkPrintable(&r, *c.DedupeKey, "dedupeKey", MaxDedupeKey)
	}
	return r.Err(callInvalid, callInvalidMessage)
}

// checkData checks the payload, and the entity where that is where it comes from.
func (c Call) checkData(r *domain.Rules) {
	if !checkJSON(r, c.EventData, "eventData") || c.Entity != nil || r.Broken("entityId") {
		return
	}
	if entity, ok := namedEntity(c.EventData); ok {
		checkPrintable(r, entity, "eventData.entityId", MaxEntity)
	}
}

// checkJSON checks that a text is one JSON value, or absent.
func checkJSON(r *domain.Rules, text json.RawMessage, field string) bool {
	ok := len(text) == 0 || utf8.Valid(text) && json.Valid(text)
	r.Check(ok, field, domain.BadFormat, "must be a JSON value in UTF-8")
	return ok
}

// checkPrintable checks a text that names something: 1 to most characters that print.
func checkPrintable(r *domain.Rules, text, field string, most int) {
	r.Text(text, field, 1, most)
	for _, c := range text {
		r.Check(unicode.IsPrint(c), field, domain.BadText, "must consist of printable characters, unlike %q", c)
	}
}

// Payload is what the run gets to work with: the event data, an empty object when there
// is none.
func (c Call) Payload() json.RawMessage {
	if len(c.EventData) == 0 {
		return json.RawMessage("{}")
	}
	return c.EventData
}

// EntityID is what the run is about: what the call names, else the member entityId of
// its event data when that is a string, or a number in the spelling in which it came;
// ok is false when neither is there.
func (c Call) EntityID() (id string, ok bool) {
	if c.Entity != nil {
		return *c.Entity, true
	}
	return namedEntity(c.EventData)
}

// namedEntity is the member entityId of an object. The text is valid JSON.
func namedEntity(data json.RawMessage) (id string, ok bool) {
	const mention = "entityId"
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 || data[0] != '{' || !bytes.Contains(data, []byte(mention)) && !bytes.Contains(data, []byte(`\u`)) {
		return "", false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return "", false
	}
	switch value := members[mention]; {
	case len(value) == 0:
		return "", false
	case value[0] == '"':
		return id, json.Unmarshal(value, &id) == nil
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return string(value), true
	}
	return "", false
}

// Check returns what is wrong with the call, as [Call.Check] does.
func (c EventCall) Check() error { return c.check(c.checkEvent) }

func (c EventCall) checkEvent(r *domain.Rules) {
	if !r.Broken("event") {
		r.Text(c.Event, "event", 1, MaxEvent)
	}
	if c.SubTenant != nil {
		checkPrintable(r, string(*c.SubTenant), "subTenantId", maxSubTenant)
	}
}

// Check returns what is wrong with the call, as [Call.Check] does.
func (c IngestCall) Check() error {
	return c.check(func(r *domain.Rules) {
		c.checkEvent(r)
		for _, list := range []struct {
			name string
			n    int
		}{{"runIds", len(c.Options.Runs)}, {"workflowVersionIds", len(c.Options.Versions)}} {
			r.Check(list.n <= MaxNarrowing, domain.Member("resumeOptions", list.name), domain.TooLong,
				"must hold at most %d identifiers, not %d", MaxNarrowing, list.n)
		}
	})
}

// Check returns what is wrong with the call, as [Call.Check] does. That there is such a
// run, and that the token is right, is looked up.
func (c ResumeCall) Check() error {
	var r domain.Rules
	r.Add(c.Malformed...)
	if !r.Broken("runId") {
		r.Check(c.Run != "", "runId", domain.Required, "must not be empty")
	}
	if !r.Broken("resumeToken") {
		r.Check(c.Token != "", "resumeToken", domain.Required, "must not be empty")
		r.Check(len(c.Token) <= MaxToken, "resumeToken", domain.TooLong, "must be at most %d characters long, not %d", MaxToken, len(c.Token))
	}
	if !r.Broken("input") {
		checkJSON(&r, c.Input, "input")
	}
	return r.Err(callInvalid, callInvalidMessage)
}

// Check returns what is wrong with the call, as [Call.Check] does. What its answers
// mean is found while it is simulated.
func (c SimulationCall) Check() error {
	return c.check(func(r *domain.Rules) {
		if c.At != nil && !r.Broken("startAt") {
			r.Check(c.At.Year() >= minYear && c.At.Year() <= maxYear, "startAt", domain.NotAllowed, "must be in the years %d to %d", minYear, maxYear)
		}
		checkShown(r, c.Shown)
		n := 0
		for _, id := range slices.Sorted(maps.Keys(c.Answers)) {
			n += len(c.Answers[id])
			for i, a := range c.Answers[id] {
				field := domain.Index(domain.Member("answers", string(id)), i)
				if !r.Broken(field) {
					a.check(r, field)
				}
			}
		}
		r.Check(n <= MaxAnswers, "answers", domain.TooLong, "must hold at most %d answers, not %d", MaxAnswers, n)
	})
}

func (a Answer) check(r *domain.Rules, field string) {
	checkJSON(r, a.Output, domain.Member(field, "output"))
	r.Check(a.After >= 0, domain.Member(field, "afterMs"), domain.TooSmall, "must be at least 0, not %d", a.After.Milliseconds())
	if p := a.Pause; p != nil {
		r.Text(p.Event, domain.Member(field, "pause.event"), 0, MaxEvent)
		r.Check(p.Timeout >= 0, domain.Member(field, "pause.timeoutMs"), domain.TooSmall, "must be at least 0, not %d", p.Timeout.Milliseconds())
	}
	if f := a.Failure; f != nil {
		r.Check(f.RetryAfter >= 0, domain.Member(field, "error.retryAfterMs"), domain.TooSmall,
			"must be at least 0, not %d", f.RetryAfter.Milliseconds())
	}
}

// CheckCall returns why a call cannot fire a trigger as things stand: a Conflict with
// the code trigger_not_webhook, trigger_inactive, workflow_inactive or
// version_not_active, in this order.
func CheckCall(trg *trigger.Trigger, around trigger.ParentState) error {
	switch {
	case trg.Type() != trigger.Webhook:
		return domain.Fail(domain.Conflict, "trigger_not_webhook",
			"The trigger is of type %s: its schedule fires it, and a call cannot. Call a trigger of type %s.", trg.Type(), trigger.Webhook)
	case !trg.Active():
		return domain.Fail(domain.Conflict, "trigger_inactive",
			"The trigger is inactive. Activate it first, by PATCH with isActive: true.")
	case !around.WorkflowActive:
		return domain.Fail(domain.Conflict, "workflow_inactive",
			"The trigger's workflow is inactive, so that none of its triggers fires. Activate the workflow first.")
	case !around.VersionActive:
		return domain.Fail(domain.Conflict, "version_not_active",
			"The trigger belongs to a workflow version that is not the active one. Publish that version, or call a trigger of the active one.")
	}
	return nil
}

// CannotFire says why the schedule of a trigger cannot start a run, for people; empty
// when it can. A trigger without a workflow is gone.
func CannotFire(trg *trigger.Trigger, of workflow.ID, around trigger.ParentState) string {
	switch {
	case of == "":
		return "The trigger is being deleted."
	case !trg.Active():
		return "The trigger is inactive."
	case !around.WorkflowActive:
		return "The workflow is inactive."
	case !around.VersionActive:
		return trigger.VersionNotActive
	}
	return ""
}

// InstantKey is the dedupe key of a run that a schedule starts.
func InstantKey(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// MaxReason bounds why a run was cancelled, in characters.
const MaxReason = 1000

// CheckReason returns what is wrong with the reason for which a run is to be cancelled,
// as [Call.Check] does.
func CheckReason(reason string) error {
	var r domain.Rules
	r.Text(reason, "reason", 0, MaxReason)
	return r.Err(callInvalid, callInvalidMessage)
}

// UnknownTrigger reports that a simulation names a trigger that its version does not have.
func UnknownTrigger() error {
	var r domain.Rules
	r.Check(false, "triggerId", domain.Unknown, "must be the id of a trigger of this version")
	return r.Err(callInvalid, callInvalidMessage)
}
