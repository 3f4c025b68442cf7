package event

import "slices"

// Type says what happened. It fixes the shape of an event's data.
type Type string

// The types of event.
const (
	RunStarted        Type = "run.started"
	RunCompleted      Type = "run.completed"
	RunFailed         Type = "run.failed"
	RunCancelled      Type = "run.cancelled"
	RunPaused         Type = "run.paused"
	RunResumed        Type = "run.resumed"
	WorkflowPublished Type = "workflow.published"
	TriggerDisabled   Type = "trigger.disabled"

	// EndpointDisabled is sent to the tenant's other endpoints when one was switched off
	// because it failed, as by Svix.
	EndpointDisabled Type = "webhook_endpoint.disabled"

	// ConnectionNeedsConsent is sent when a person's consent to a connection was taken back or has ended.
	ConnectionNeedsConsent Type = "connection.needs_consent"

	// UsageThreshold is sent when a tenant has used 80 or 100 percent of a budget or was refused something, once a month for each ("What is
	// remembered").
	UsageThreshold Type = "usage.threshold"

	// EndpointTest is sent on request, to one endpoint, whatever it subscribes to. It
	// cannot be subscribed to.
	EndpointTest Type = "webhook_endpoint.test"
)

// Types lists every type that an endpoint can subscribe to.
func Types() []Type {
	return []Type{
		RunStarted, RunCompleted, RunFailed, RunCancelled, RunPaused, RunResumed, WorkflowPublished, TriggerDisabled, EndpointDisabled,
		ConnectionNeedsConsent, UsageThreshold,
	}
}

// Subscribable says whether an endpoint can subscribe to the type.
func (t Type) Subscribable() bool { return slices.Contains(Types(), t) }
