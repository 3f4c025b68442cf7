package event

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// EndpointFilter narrows a list of endpoints; the zero value takes all of them.
type EndpointFilter struct {
	SubTenant *tenant.SubTenantID
	Active    *bool
	Metadata  domain.MetadataFilter
	Search    string // part of the URL or the description, whatever its case
}

// EndpointSortFields lists what endpoints can be sorted by.
func EndpointSortFields() []string { return []string{"createdAt", "updatedAt"} }

// DeliveryFilter narrows the list of an endpoint's deliveries; the zero value takes
// all of them.
type DeliveryFilter struct {
	Status Status     // empty for any
	Type   Type       // of the event; empty for any
	Event  ID         // empty for any
	From   *time.Time // those that were created then or later
	To     *time.Time // those that were created before
}

// DeliverySortFields lists what deliveries can be sorted by.
func DeliverySortFields() []string { return []string{"createdAt", "updatedAt"} }
