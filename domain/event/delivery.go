package event

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// DeliveryID identifies a delivery: "msg_" and 26 base32 characters. Receivers get it
// as webhook-id, the same in every attempt.
type DeliveryID string

// DeliveryIDPrefix is what a [DeliveryID] begins with, without the underscore.
const DeliveryIDPrefix = "msg"

// MaxKeptAttempts is how many attempts of a delivery are kept, the latest ones; those
// of the schedule always are unless somebody asks for many more.
const MaxKeptAttempts = 20

// Status says how far a delivery is.
type Status string

// The statuses.
const (
	Pending   Status = "pending"   // an attempt is to come
	Delivered Status = "delivered" // the endpoint took it
	Failed    Status = "failed"    // every attempt failed, or none is made any more
)

// Statuses lists every status.
func Statuses() []Status { return []Status{Pending, Delivered, Failed} }

// Delivery brings one event to one endpoint. Build one with [NewDelivery],
// [NewTestDelivery] or [RestoreDelivery].
type Delivery struct{ state DeliveryState }

// DeliveryState is everything a store keeps of a delivery.
type DeliveryState struct {
	ID            DeliveryID
	Tenant        tenant.ID
	Endpoint      EndpointID
	Event         ID
	Type          Type // of the event
	Status        Status
	Attempts      []Attempt  // the latest [MaxKeptAttempts], the oldest first
	Attempted     int        // how many were made
	NextAttemptAt *time.Time // exactly while pending
	Manual        bool       // somebody asked for the next attempt; no other one follows it
	Urgent        bool       // somebody asked for the next attempt and waits for it: it goes before the tenant's others
	LeasedUntil   *time.Time // a store leases a pending delivery to the process that sends it; nil when none does
	DeliveredAt   *time.Time // when the endpoint first took it
	Reason        string     // why it failed, for people; empty unless it did
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Revision      int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// NewDelivery makes the delivery of an event to an endpoint of the same tenant; its
// first attempt is due now.
func NewDelivery(id DeliveryID, to *Endpoint, e *Event, now time.Time) *Delivery {
	return &Delivery{DeliveryState{
		ID: id, Tenant: e.Tenant(), Endpoint: to.ID(), Event: e.ID(), Type: e.Type(), Status: Pending,
		NextAttemptAt: &now, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}}
}

// NewTestDelivery makes a delivery that is tried once, even if the endpoint is not
// active.
func NewTestDelivery(id DeliveryID, to *Endpoint, e *Event, now time.Time) *Delivery {
	d := NewDelivery(id, to, e, now)
	d.state.Manual, d.state.Urgent = true, true
	return d
}

// RestoreDelivery rebuilds a delivery from what a store kept, without applying any
// rule.
func RestoreDelivery(s DeliveryState) *Delivery { return &Delivery{s.clone()} }

// State returns what a store has to keep.
func (d *Delivery) State() DeliveryState { return d.state.clone() }

// NextAttempt is the number of the next attempt, 1 for the first.
func (d *Delivery) NextAttempt() int { return d.state.Attempted + 1 }

// Record takes in what became of the attempt with the number, which began at the time.
// A success ends the delivery. After a failure the next attempt follows when [Delay]
// says, or later where the endpoint asked for that and it is no more than
// [MaxRetryAfter]; after the last one, and after the answer 410, the delivery has
// failed. No attempt follows a manual one: what was delivered before stays delivered.
//
// Each number is recorded once. False means that this one was, or that nothing is to
// be attempted any more, and changes nothing.
func (d *Delivery) Record(number int, at time.Time, o AttemptResult) bool {
	s := &d.state
	if s.Status != Pending || number != d.NextAttempt() {
		return false
	}
	ended := at.Add(o.Duration).Truncate(time.Millisecond)
	manual := s.Manual
	s.Attempted = number
	s.Attempts = append(s.Attempts, Attempt{
		Number: number, At: at, Duration: o.Duration, Status: o.Status, Code: o.Code, Error: o.Error, Excerpt: o.Excerpt, Manual: manual,
	})
	if surplus := len(s.Attempts) - MaxKeptAttempts; surplus > 0 {
		s.Attempts = slices.Clone(s.Attempts[surplus:])
	}
	s.Manual, s.Urgent, s.NextAttemptAt, s.LeasedUntil, s.UpdatedAt = false, false, nil, nil, ended
	wait, more := Delay(s.ID, number+1)
	switch {
	case o.Succeeded():
		s.Status = Delivered
		if s.DeliveredAt == nil {
			s.DeliveredAt = &ended
		}
	case manual && s.DeliveredAt != nil:
		s.Status = Delivered
	case manual:
		d.fail("The attempt that was asked for failed.")
	case o.Gone():
		d.fail(DisabledGone.Text())
	case !more:
		d.fail(fmt.Sprintf("All %d attempts failed.", number))
	default:
		next := ended.Add(max(wait, min(o.RetryAfter, MaxRetryAfter))).Truncate(time.Millisecond)
		s.NextAttemptAt = &next
	}
	return true
}

// RecordLeased does the same with the attempt for which the delivery was leased as it was
// then. requested says that somebody has asked for a redelivery since, which is still to be
// made: nothing else changes a delivery while its attempt is not recorded.
func (d *Delivery) RecordLeased(leased *Delivery, at time.Time, o AttemptResult) (recorded, requested bool) {
	if d.state.Status != Pending || d.state.Attempted != leased.state.Attempted {
		return false, false
	}
	requested = d.state.Revision != leased.state.Revision
	d.state.Manual = leased.state.Manual // what the redelivery made of it is true of the next attempt
	return d.Record(leased.NextAttempt(), at, o), requested
}

// Release ends the lease of a delivery to which no attempt was made, unless it has ended
// already.
func (d *Delivery) Release(leased *Delivery) bool {
	until := d.state.LeasedUntil
	if until == nil || !until.Equal(*leased.state.LeasedUntil) {
		return false
	}
	d.state.LeasedUntil = nil
	return true
}

// Abandon ends a pending delivery without an attempt, because its endpoint is not
// active any more. An attempt that somebody asked for is still made. False means
// that there is nothing to abandon.
func (d *Delivery) Abandon(now time.Time) bool {
	if d.state.Status != Pending || d.state.Manual {
		return false
	}
	d.state.Urgent, d.state.NextAttemptAt, d.state.LeasedUntil, d.state.UpdatedAt = false, nil, nil, now
	d.fail("The endpoint was not active when the next attempt was due.")
	return true
}

func (d *Delivery) fail(reason string) { d.state.Status, d.state.Reason = Failed, reason }

// Redeliver makes an urgent attempt due now, under the same identifier, by which receivers
// recognize repeats. Of a pending delivery to an active endpoint it is the next one, earlier,
// and the schedule continues from there. Otherwise no other attempt follows it, as with
// Svix.
func (d *Delivery) Redeliver(active bool, now time.Time) {
	s := &d.state
	if s.Status != Pending || !active {
		s.Manual = true
	}
	if s.Status != Pending || s.NextAttemptAt.After(now) {
		s.NextAttemptAt = &now
	}
	s.Status, s.Urgent, s.Reason, s.UpdatedAt = Pending, true, "", now
}

// ID identifies the delivery.
func (d *Delivery) ID() DeliveryID { return d.state.ID }

// Tenant owns the delivery.
func (d *Delivery) Tenant() tenant.ID { return d.state.Tenant }

// Endpoint is where the event goes.
func (d *Delivery) Endpoint() EndpointID { return d.state.Endpoint }

// Event is what is delivered.
func (d *Delivery) Event() ID { return d.state.Event }

// Type is that of the event.
func (d *Delivery) Type() Type { return d.state.Type }

// Status says how far the delivery is.
func (d *Delivery) Status() Status { return d.state.Status }

// Attempts lists the latest attempts, the oldest first.
func (d *Delivery) Attempts() []Attempt { return slices.Clone(d.state.Attempts) }

// Attempted is how many attempts were made.
func (d *Delivery) Attempted() int { return d.state.Attempted }

// NextAttemptAt is when the next attempt is due; nil when none is to come.
func (d *Delivery) NextAttemptAt() *time.Time { return domain.CopyOf(d.state.NextAttemptAt) }

// Manual says whether somebody asked for the next attempt.
func (d *Delivery) Manual() bool { return d.state.Manual }

// DeliveredAt is when the endpoint first took the event; nil when it did not.
func (d *Delivery) DeliveredAt() *time.Time { return domain.CopyOf(d.state.DeliveredAt) }

// Reason says why the delivery failed; empty unless it did.
func (d *Delivery) Reason() string { return d.state.Reason }

// CreatedAt is when the delivery was made.
func (d *Delivery) CreatedAt() time.Time { return d.state.CreatedAt }

// UpdatedAt is when the delivery last changed.
func (d *Delivery) UpdatedAt() time.Time { return d.state.UpdatedAt }

// Revision counts the delivery's changes.
func (d *Delivery) Revision() int64 { return d.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (d *Delivery) Saved() { d.state.Revision++ }

func (s DeliveryState) clone() DeliveryState {
	s.Attempts = slices.Clone(s.Attempts)
	s.NextAttemptAt, s.LeasedUntil, s.DeliveredAt = domain.CopyOf(s.NextAttemptAt), domain.CopyOf(s.LeasedUntil), domain.CopyOf(s.DeliveredAt)
	return s
}
