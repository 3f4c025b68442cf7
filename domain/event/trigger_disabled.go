package event

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// DisabledByRequest is the reason of a [TriggerDisabled] that somebody asked for through
// the API.
const DisabledByRequest = "It was switched off by a request."

// NewTriggerDisabled tells that a trigger does not fire any more because it was switched
// off, and why. That its workflow is switched off, or another version published, is not
// told so: then the trigger itself stays as it is.
func NewTriggerDisabled(id ID, trg *trigger.Trigger, reason string, at time.Time) *Event {
	data := `{"triggerId":` + quote(string(trg.ID())) + `,"workflowVersionId":` + quote(string(trg.Version())) +
		`,"name":` + text(trg.Name()) + `,"reason":` + text(reason) + `}`
	return Restore(State{
		ID: id, Tenant: trg.Tenant(), SubTenant: trg.SubTenant(), Type: TriggerDisabled, At: at, Data: domain.RestoreDocument(data),
	})
}
