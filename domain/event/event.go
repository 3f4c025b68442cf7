package event

import (
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ID identifies an event: "evt_" and 26 base32 characters. It is the same in every
// delivery of the event.
type ID string

// IDPrefix is what an [ID] begins with, without the underscore.
const IDPrefix = "evt"

// Retention is how long an event is kept with its deliveries: as long as a finished run.
const Retention = 30 * 24 * time.Hour

// Event is something that happened and is sent to endpoints that subscribe to it. It never
// changes. Build one with [NewRunEvent] and its like, or [Restore].
type Event struct{ state State }

// State is everything a store keeps of an event.
type State struct {
	ID        ID
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID // of what it is about; empty when that belongs to the tenant as a whole
	Type      Type
	At        time.Time       // when it happened
	Data      domain.Document // kept as it is, since its bytes are signed
	OfChild   bool            // it is about a run that another one started
}

// NewTest makes an event that shows whether an endpoint receives anything.
func NewTest(id ID, of *Endpoint, at time.Time) *Event {
	data := `{"endpointId":` + quote(string(of.ID())) + `,"message":"This is a test. Nothing has happened."}`
	return &Event{State{
		ID: id, Tenant: of.Tenant(), SubTenant: of.SubTenant(), Type: EndpointTest, At: at, Data: domain.RestoreDocument(data),
	}}
}

// Restore rebuilds an event from what a store kept, without applying any rule.
func Restore(s State) *Event { return &Event{s} }

// State returns what a store has to keep.
func (e *Event) State() State { return e.state }

// ID identifies the event.
func (e *Event) ID() ID { return e.state.ID }

// Tenant owns the event.
func (e *Event) Tenant() tenant.ID { return e.state.Tenant }

// SubTenant is the segment of the tenant that the event is about, empty for none.
func (e *Event) SubTenant() tenant.SubTenantID { return e.state.SubTenant }

// OfChild says whether it is about a run that another one started.
func (e *Event) OfChild() bool { return e.state.OfChild }

// Type says what happened.
func (e *Event) Type() Type { return e.state.Type }

// At is when it happened.
func (e *Event) At() time.Time { return e.state.At }

// Data says more about it.
func (e *Event) Data() domain.Document { return e.state.Data }

// timeLayout is how the gateway writes times.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Body is what an endpoint is sent: {id, type, timestamp, data}. It is the same for
// every attempt and every endpoint, byte for byte.
func (e *Event) Body() []byte {
	data := e.state.Data.String()
	b := make([]byte, 0, len(data)+160)
	b = append(b, `{"id":`...)
	b = append(b, quote(string(e.state.ID))...)
	b = append(b, `,"type":`...)
	b = append(b, quote(string(e.state.Type))...)
	b = append(b, `,"timestamp":"`...)
	b = e.state.At.UTC().AppendFormat(b, timeLayout)
	b = append(b, `","data":`...)
	b = append(b, data...)
	return append(b, '}')
}

// quote writes a text of printable ASCII, such as an identifier, as JSON.
func quote(text string) string { return strconv.QuoteToASCII(text) }
