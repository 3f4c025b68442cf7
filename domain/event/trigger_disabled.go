package event

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// DisabledByRequest is the reason of a [TriggerDisabled] that somebody asked for through
// the API.
const DisabledByRequest = "It was switched off by a request."

// NewTriggerDisabled is the event of a trigger that was switched off, or was left behind
// when another version was published ([trigger.VersionNotActive]), with the reason. Switching
// off its workflow leaves the trigger as it is.
func NewTriggerDisabled(id ID, trg *trigger.Trigger, reason string, at time.Time) *Event {
	data := `{"triggerId":` + quote(string(trg.ID())) + `,"workflowVersionId":` + quote(string(trg.Version())) +
		`,"name":` + text(trg.Name()) + `,"reason":` + text(reason) + `}`
	return Restore(State{
		ID: id, Tenant: trg.Tenant(), SubTenant: trg.SubTenant(), Type: TriggerDisabled, At: at, Data: domain.RestoreDocument(data),
	})
}
