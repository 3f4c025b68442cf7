package hook

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// DeliveryID identifies a delivery that was received: "hdl_" and 26 base32 characters.
type DeliveryID string

// DeliveryIDPrefix is what a [DeliveryID] begins with, without the underscore.
const DeliveryIDPrefix = "hdl"

// Bounds of the deliveries that are kept of a hook. The oldest go first.
const (
	MaxKept      = 10_000
	MaxKeptBytes = 256 << 20
	MaxRefused   = 100 // of those that were refused, which do not count for the others
)

// Verdict is what became of a delivery.
type Verdict string

// The verdicts.
const (
	Accepted      Verdict = "accepted"   // it started runs, or continued some
	Duplicate     Verdict = "duplicate"  // its key stands for a run that was started before
	Filtered      Verdict = "filtered"   // the hook or its trigger is not for it
	Inactive      Verdict = "inactive"   // the hook, its trigger or its workflow is switched off
	Challenged    Verdict = "challenged" // it asked whether the address is ours, and was answered
	Rejected      Verdict = "rejected"   // it is genuine and cannot start a run; the code says why
	Unreadable    Verdict = "unreadable" // its body is not what its type says
	RefusedSender Verdict = "refused"    // its sender is not known: the code says why
)

// Verdicts lists every verdict.
func Verdicts() []Verdict {
	return []Verdict{Accepted, Duplicate, Filtered, Inactive, Challenged, Rejected, Unreadable, RefusedSender}
}

// Received is a delivery as it is kept. It is whole: what of it is secret is left out where it is
// shown.
type Received struct {
	ID       DeliveryID
	Tenant   tenant.ID
	Trigger  trigger.ID
	At       time.Time
	Verdict  Verdict
	Code     string     // why, where the verdict does not say it alone
	Runs     []run.ID   // what it started or continued, or, of a duplicate, what was started before
	Items    int        // how many runs it is split into; 0 where it is not split
	ReplayOf DeliveryID // the delivery that this one repeats; empty for none
	Size     int64      // as it is stored, in bytes; 0 until then
	Once     string     // what a repetition is made once for; empty for every time it is asked for. It is not stored
	Anew     bool       // it repeats one that was rejected, and starts what that did not. It is not stored

	// Request is empty in lists. Its Origin and Token are never kept, nor the token within its
	// Address.
	Request Request
	Client  string // the address that it came from
}

// Replayable says whether the delivery may be repeated: a Conflict with the code
// delivery_not_replayable says why not. Nothing is ever run whose sender is not known.
func (d *Received) Replayable() error {
	if d.Verdict == RefusedSender {
		return domain.Fail(domain.Conflict, "delivery_not_replayable", "The delivery was refused, since nobody knows who sent it. It is never run.")
	}
	return nil
}

// ReceivedFilter narrows a list of deliveries; the zero value takes all of them.
type ReceivedFilter struct {
	Verdict  Verdict    // empty for any
	From, To *time.Time // when they were received: at or after the first, before the second
}
