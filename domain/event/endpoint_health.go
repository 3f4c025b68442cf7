package event

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// FailureLimit is how long an endpoint may do nothing but fail before it is switched off.
const FailureLimit = 5 * 24 * time.Hour

// DisabledReason says why the gateway switched an endpoint off.
type DisabledReason string

// The reasons.
const (
	DisabledFailing DisabledReason = "failing" // nothing but failures for [FailureLimit]
	DisabledGone    DisabledReason = "gone"    // it answered 410 (Standard Webhooks, "Delivery success and failure")
)

// Text says it to people.
func (r DisabledReason) Text() string {
	if r == DisabledGone {
		return "The endpoint answered 410 Gone, which asks for no more webhooks."
	}
	return "Every attempt to deliver to the endpoint has failed for 5 days."
}

// Disabled is how the gateway switched an endpoint off.
type Disabled struct {
	At     time.Time
	Reason DisabledReason
}

// Note takes in what an attempt that ended at the time says about the endpoint, and
// says whether that changes the endpoint. A success ends a row of failures. A failure
// begins one, or switches the endpoint off when the row is [FailureLimit] long; the
// answer 410 switches it off at once. An endpoint that is not active stays as it is, and
// an [InternalFailure] changes none.
func (e *Endpoint) Note(o AttemptResult, at time.Time) (changed bool) {
	s := &e.state
	switch {
	case !s.Active || o.Internal():
		return false
	case o.Succeeded():
		changed = s.FailingSince != nil
		s.FailingSince = nil
		return changed
	case s.FailingSince == nil:
		s.FailingSince, changed = &at, true
	}
	switch {
	case o.Gone():
		e.disable(DisabledGone, at)
	case at.Sub(*s.FailingSince) >= FailureLimit:
		e.disable(DisabledFailing, at)
	default:
		return changed
	}
	return true
}

func (e *Endpoint) disable(reason DisabledReason, at time.Time) {
	e.state.Active, e.state.Disabled, e.state.UpdatedAt = false, &Disabled{At: at, Reason: reason}, at
}

// DisabledEvent is the event of the gateway switching the endpoint off. ok is false when it
// did not. The URL is left out, because it may hold a secret.
func (e *Endpoint) DisabledEvent(id ID) (disabled *Event, ok bool) {
	s := e.state
	if s.Disabled == nil {
		return nil, false
	}
	data := `{"endpointId":` + quote(string(s.ID)) + `,"reason":` + quote(string(s.Disabled.Reason)) +
		`,"message":` + quote(s.Disabled.Reason.Text())
	if s.FailingSince != nil {
		data += `,"failingSince":` + quote(s.FailingSince.UTC().Format(timeLayout))
	}
	data += `,"disabledAt":` + quote(s.Disabled.At.UTC().Format(timeLayout)) + `}`
	return Restore(State{
		ID: id, Tenant: s.Tenant, SubTenant: s.SubTenant, Type: EndpointDisabled, At: s.Disabled.At, Data: domain.RestoreDocument(data),
	}), true
}
