package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
)

// WebhookStores are the repositories of outgoing events in one unit of work. What
// [Stores] says of all repositories holds for them, too. Events, deliveries and
// endpoints are deleted with their tenant.
type WebhookStores struct {
	Endpoints  EndpointRepository
	Events     EventRepository
	Deliveries DeliveryRepository
	Queue      DeliveryQueue
}

// EndpointRepository keeps webhook endpoints. Their secrets are kept as
// domain.SigningSecret.Reveal gives them, since messages are signed with them.
type EndpointRepository interface {
	Insert(ctx context.Context, e *event.Endpoint) error

	// Get returns NotFound with the code webhook_endpoint_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id event.EndpointID) (*event.Endpoint, error)

	List(ctx context.Context, scope tenant.Scope, f event.EndpointFilter, q domain.Query) (domain.Page[*event.Endpoint], error)

	// Matching returns the endpoints that want an event of the type about the segment, and
	// about a run that another one started if ofChild, as event.Endpoint.Wants says, by id. It holds none of them. An endpoint that cannot be
	// read comes with its identifiers alone, unless it is known not to want the event: its
	// deliveries wait until it can be read, and none of the others is kept from its own.
	Matching(ctx context.Context, scope tenant.Scope, t event.Type, sub tenant.SubTenantID, ofChild bool) ([]*event.Endpoint, error)

	Update(ctx context.Context, e *event.Endpoint) error

	// Delete removes the endpoint with its deliveries. An unknown id is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, id event.EndpointID) error
}

// EventRepository keeps events, and which of them wait for their fan-out: for a delivery
// to be made for each endpoint that wants them.
type EventRepository interface {
	// Append adds events that wait. It is called in the unit that makes them happen, so that
	// an event is sent exactly when it took place.
	Append(ctx context.Context, events ...*event.Event) error

	// AppendIfWanted does the same with events that happen often, and leaves out those of tenants that
	// have no active endpoint, or none that wants events of runs that others started where it is
	// one: nobody will ever get them.
	AppendIfWanted(ctx context.Context, events ...*event.Event) error

	// Get returns NotFound with the code event_not_found for an unknown id. It holds
	// nothing, since events never change.
	Get(ctx context.Context, scope tenant.Scope, id event.ID) (*event.Event, error)

	// PendingFanOut returns at most limit events that wait, tenant by tenant in the order of
	// their ids: from the one that follows a tenant on, which need not exist, and after the last
	// one from the first. Of each the oldest come first, ties by id. No
	// other unit gets them until this one ends, and those that another unit has are left
	// out without waiting, as are the exceptions. It is for the gateway itself, so not
	// scoped to one tenant. An event whose time or data cannot be read comes without them:
	// its fan-out does not need them.
	PendingFanOut(ctx context.Context, limit int, after tenant.ID, except ...EventKey) ([]*event.Event, error)

	// MarkFannedOut notes that events do not wait any more. Those that do not are left as they
	// are.
	MarkFannedOut(ctx context.Context, events ...*event.Event) error

	// Sweep removes at most limit events, of any tenant, that happened before the time,
	// with their deliveries, and returns how many. One that waits stays, and so does one
	// that has a pending delivery, unless its tenant is not active: nobody knows whether
	// that will ever be made.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// DeliveryRepository keeps the deliveries of events to endpoints. A scope covers those of
// which it covers both the event and the endpoint. An attempt that is due
// when the delivery was changed, and no later, is due at once although the clock of who
// changed it is ahead of the database's.
type DeliveryRepository interface {
	// Insert adds deliveries, whose event and endpoint exist.
	Insert(ctx context.Context, deliveries ...*event.Delivery) error

	// Get returns NotFound with the code delivery_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id event.DeliveryID) (*event.Delivery, error)

	// List returns a page of an endpoint's deliveries. An endpoint that does not exist has
	// none.
	List(ctx context.Context, scope tenant.Scope, of event.EndpointID, f event.DeliveryFilter, q domain.Query) (domain.Page[*event.Delivery], error)

	// Update writes what became of a delivery, including its lease.
	Update(ctx context.Context, d *event.Delivery) error
}

// DeliveryQueue leases deliveries to the processes that send them, and takes in what became
// of them. Leases and what is due go by the database's clock, whatever that of a process
// says. It is for the gateway itself, so not scoped to one tenant.
type DeliveryQueue interface {
	// Claim leases deliveries of active tenants that are free: pending, with a next attempt
	// that is due, and not leased. The tenants take turns: the first delivery of each comes
	// before the second of any, those that are leased already counted in, so that a tenant to
	// whom much is being sent waits for one to whom little is. Of one tenant, and of one
	// endpoint, the urgent ones come first, then the most overdue. Within a turn the most
	// overdue come first, ties by id. The bounds of [DeliveryClaim] hold whoever claims.
	//
	// A delivery that cannot be read, or whose endpoint or event cannot, keeps none of the
	// others from being leased: it is postponed as [RetryAt] says and returned with the
	// reason. It counts for the limit of this claim, and for no bound of the next.
	//
	// Two units never claim the same delivery; one that another unit holds is left out
	// without waiting. Claim writes the lease and leaves the revision as it is: what is
	// recorded later is fenced by the number of the attempt. Units that claim may wait for
	// one another, so they should do nothing else.
	Claim(ctx context.Context, c DeliveryClaim) ([]DueDelivery, error)

	// Next returns how long it is until a delivery is free, and no more than 0 when one is;
	// ok is false when none will be. It does not look at the bounds of [DeliveryClaim].
	Next(ctx context.Context) (wait time.Duration, ok bool, err error)

	// Lock returns deliveries with their endpoints as they are now, and holds all of them
	// until the unit ends. Deliveries to one endpoint come with the same one. Those that do
	// not exist any more are left out. One that cannot be read, or whose endpoint cannot,
	// comes with the reason.
	Lock(ctx context.Context, of []DeliveryKey) ([]LockedDelivery, error)

	// Record writes what became of deliveries and endpoints that the unit holds, as Update
	// would.
	Record(ctx context.Context, deliveries []*event.Delivery, endpoints []*event.Endpoint) error

	// Postpone gives a delivery back of which an attempt, 1 for the first, could not be
	// recorded: it is due again as [RetryAt] says of the time since. It does not read the
	// delivery. One that does not exist, is not pending, or has made the attempt is left as
	// it is.
	Postpone(ctx context.Context, of DeliveryKey, attempt int, since time.Time) error
}

// MaxRetryWait is by how much a delivery that cannot be read is postponed at most.
const MaxRetryWait = time.Hour

// RetryAt says when to look again at something that cannot be dealt with and has been
// there since a time: after as long as that, so that the waits double, but no less than
// [UnreadableWait] and no more than [MaxRetryWait].
func RetryAt(since, now time.Time) time.Time {
	return now.Add(min(max(now.Sub(since), UnreadableWait), MaxRetryWait))
}

// DeliveryClaim says how many deliveries to lease, and for how long.
type DeliveryClaim struct {
	Period time.Duration // how long the leases last
	Limit  int           // how many are leased at most

	// Reserved is how many of the limit are kept for tenants to whom nothing is leased: no
	// second delivery of a tenant gets one of those.
	Reserved int

	// Failing is how many of those leased may go to endpoints that fail: active ones with an
	// event.Endpoint.FailingSince.
	Failing int

	PerTenant   int // how many of one tenant may be leased at the same time
	PerEndpoint int // how many of one endpoint may; of one that fails it is one
}

// DeliveryKey names a delivery.
type DeliveryKey struct {
	Tenant   tenant.ID
	Endpoint event.EndpointID // to which it goes
	Delivery event.DeliveryID
}

// EventKey names an event.
type EventKey struct {
	Tenant tenant.ID
	Event  event.ID
}

// LockedDelivery is a delivery that a unit holds.
type LockedDelivery struct {
	Key        DeliveryKey
	Delivery   *event.Delivery // nil when it is unreadable, as is the endpoint
	Endpoint   *event.Endpoint
	Unreadable error // why the delivery or its endpoint cannot be read
}

// DueDelivery is a delivery that was leased, with all that it takes to send it, or could
// not be.
type DueDelivery struct {
	Key        DeliveryKey
	At         time.Time       // when it was claimed, by the database's clock
	Delivery   *event.Delivery // nil when it is unreadable, as are the endpoint and the event
	Endpoint   *event.Endpoint // as it was when the delivery was claimed
	Event      *event.Event
	Unreadable error     // why the delivery, its endpoint or its event cannot be read
	RetryAt    time.Time // when it is due again; the zero time unless it is unreadable
}

// Sender sends signed messages to endpoints.
type Sender interface {
	// Send posts the message once. Whatever the other side does, refuses or fails to do
	// within event.SendTimeout is an outcome, never an error, and so is an address that
	// calls may not go to. Redirects are not followed. An error means that the attempt did
	// not come to an end here: the context was done, and the error wraps its cause, or the
	// process could not try. The message may then have arrived or not, and is to be sent
	// again.
	Send(ctx context.Context, m SignedMessage) (event.AttemptResult, error)
}

// SignedMessage is what is sent to an endpoint.
type SignedMessage struct {
	Tenant    tenant.ID // who has the endpoint; it is not sent
	URL       string
	Signature domain.Signature
	Body      []byte // JSON; exactly these bytes are signed

	// Credential is what the message bears besides, to the hosts of its connection only; the
	// zero value for none. What comes back is searched for it before anything is kept.
	Credential connection.Credential
}
