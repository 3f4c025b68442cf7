package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// ShownHook is a hook as its tenant may see it.
type ShownHook struct {
	Hook     *hook.Hook
	URL      string // the address, shortened unless it was made a moment ago
	Retiring bool   // the address before lives on
}

// Hooks is what can be done with the hooks of triggers. An unknown trigger is NotFound with the code
// trigger_not_found, one without a hook hook_not_found; a revision that is not the expected one is a
// Conflict with the code precondition_failed. All violations are reported at once, as Invalid with the code
// hook_invalid.
type Hooks interface {
	// Create gives a trigger of type webhook a hook, and shows its address. A Conflict is trigger_not_webhook or hook_exists.
	Create(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, d hook.Draft) (ShownHook, error)

	Get(ctx context.Context, who tenant.Caller, of trigger.ID) (ShownHook, error)

	Update(ctx context.Context, who tenant.Caller, of trigger.ID, at domain.Expected, p hook.Patch) (ShownHook, error)

	// Delete removes the hook with the deliveries that are kept.
	Delete(ctx context.Context, who tenant.Caller, of trigger.ID, at domain.Expected) error

	// Rotate gives the hook another address, and shows it. The one before lives for a grace.
	Rotate(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, graceSeconds int) (ShownHook, error)

	// Test says whether a sample would be verified, and why not.
	Test(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, sample hook.Request) (hook.Explanation, error)
}

// HookDeliveries is what can be done with the deliveries that a hook has received. An unknown one is NotFound with the
// code hook_delivery_not_found. What is shown of them has no secrets and no signatures.
type HookDeliveries interface {
	// List returns a page, without what was received.
	List(ctx context.Context, who tenant.Caller, of trigger.ID, f hook.ReceivedFilter, q domain.Query) (domain.Page[*hook.Received], error)

	// Delivery returns one whole.
	Delivery(ctx context.Context, who tenant.Caller, of trigger.ID, id hook.DeliveryID) (*hook.Received, error)

	// Replay verifies a delivery again, except for its age, and starts what it starts, whatever its key stands for. What came
	// of it is a delivery of its own. A Conflict is delivery_not_replayable, or what keeps the trigger from firing.
	Replay(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, id hook.DeliveryID) (*hook.Received, error)

	// ReplayAll begins a job that replays those of a time, as [Jobs.Start] does; none that was refused is among them.
	ReplayAll(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, f hook.ReceivedFilter, malformed []domain.Violation) (*job.Job, error)
}

// EnteredHook is a delivery that was let in. Its sender is not known yet.
type EnteredHook struct {
	Tenant  tenant.ID  // whose memory the delivery takes; empty where there is no such hook
	Trigger trigger.ID // that it fires; empty as well
	Leave   func()     // gives its place back; never nil

	Open any // for [HookIntake.Receive]
}

// HookIntake takes deliveries of third parties.
type HookIntake interface {
	// Enter finds the hook of an address and takes one of its places. An unknown address is NotFound with the code
	// hook_not_found; a client that may not send, Forbidden hook_address_not_allowed; above the hook's limits it is
	// RateLimited with the code rate_limit_exceeded or too_many_concurrent_requests.
	Enter(ctx context.Context, token string, client netip.Addr) (EnteredHook, error)

	// Receive verifies a delivery and starts what it starts. When it returns an answer, that is durable. One whose sender
	// is not known is Unauthenticated with the code hook_delivery_refused; one that cannot be read, or start a run, is
	// Invalid. Everything else is an error for which the sender repeats it.
	Receive(ctx context.Context, in EnteredHook, r hook.Request, client netip.Addr) (hook.Answer, error)
}

// HookDelivery is a delivery whose sender is known, with what was found in it: at least one item, unless it is split.
type HookDelivery struct {
	Hook     *hook.Hook
	Settings tenant.Settings
	Received *hook.Received // to be kept; its verdict and runs are noted in it
	Read     hook.Read
	Ingest   bool // as an event
}

// Key is that of an item, or of the whole delivery. Where it is repeated it is another one, or empty, unless the first one was rejected.
func (d HookDelivery) Key(i int) string {
	key := d.Read.Items[i].Key
	switch r := d.Received; {
	case r.ReplayOf == "", r.Anew && key != "":
		return key
	case r.Once == "":
		return ""
	default:
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", r.ReplayOf, r.Once, d.Read.Items[i].Index))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
}

// KeyWithin is the key of an item that has none, within all that is sent of one delivery until it has ended.
func (d HookDelivery) KeyWithin(begun hook.DeliveryID, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", begun, d.Read.Items[i].Index))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// HookFiring starts what deliveries start. It is for the gateway's own use cases.
type HookFiring interface {
	// Deliver starts what a delivery starts, and keeps the delivery in the same unit of work. Its errors are those of
	// [Firing]; what is a duplicate, was filtered, or meets a trigger that is switched off, is none, and neither is what was
	// started of it in part.
	Deliver(ctx context.Context, d HookDelivery) error

	// Record keeps a delivery that starts nothing.
	Record(ctx context.Context, r *hook.Received) error
}

// DeliveryReplayer replays deliveries for jobs.
type DeliveryReplayer interface {
	// ReplayOnce replays a delivery as [HookDeliveries.Replay] does, once for a job whoever asks again.
	ReplayOnce(ctx context.Context, scope tenant.Scope, of trigger.ID, id hook.DeliveryID, by job.ID) error
}

// RunOutcomes waits for runs.
type RunOutcomes interface {
	// Outcome waits until a run has ended, or ctx has, which is its error then. output is what the run gave, nil for nothing, and for
	// one that has not completed.
	Outcome(ctx context.Context, who tenant.Caller, id run.ID) (status run.Status, output []byte, err error)
}
