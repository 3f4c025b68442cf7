package process

import (
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// MaxShares is how many tenants a queue names.
const MaxShares = 10

// QueueName names a queue.
type QueueName string

// The queues that the gateway keeps in its database.
const (
	RunQueue      QueueName = "runs"               // runs that could be moved on
	EventQueue    QueueName = "webhook_events"     // events that no endpoint was given yet
	DeliveryQueue QueueName = "webhook_deliveries" // deliveries with an attempt due
)

// Queue is what waits for a process to take it, of all tenants.
type Queue struct {
	Name    QueueName
	Waiting int
	Since   *time.Time // of the entry of an active tenant that has waited longest; nil for none
	Shares  []Share    // of the tenants with the most entries, the largest first, at most MaxShares
}

// Share is how many entries of a queue are one tenant's.
type Share struct {
	Tenant  tenant.ID
	Waiting int
}
