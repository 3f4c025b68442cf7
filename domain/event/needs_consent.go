package event

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
)

// NewNeedsConsent is the event of a connection that had a person's consent and lost it, with the reason.
// It happens once until somebody has consented again.
func NewNeedsConsent(id ID, c *connection.Connection, why connection.TokenFailure, at time.Time) *Event {
	data := `{"connectionId":` + quote(string(c.ID())) + `,"name":` + text(c.Name()) +
		`,"reason":` + quote(string(why.Code)) + `,"message":` + text(why.Message) + `}`
	return Restore(State{
		ID: id, Tenant: c.Tenant(), SubTenant: c.SubTenant(), Type: ConnectionNeedsConsent, At: at, Data: domain.RestoreDocument(data),
	})
}
