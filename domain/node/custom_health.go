package node

import "time"

// HealthStatus says what a heartbeat found.
type HealthStatus string

// The statuses.
const (
	HealthUnknown HealthStatus = "unknown" // no heartbeat was sent to this endpoint yet, or there is none
	Healthy       HealthStatus = "healthy"
	Unhealthy     HealthStatus = "unhealthy"
)

// Health is what the last heartbeat to the endpoint of a custom node found. It is kept
// apart from the custom node: it changes no revision, and runs ignore it. The zero value
// says that none was sent.
type Health struct {
	Endpoint  string        // the URL that was asked
	Healthy   bool          // it answered as the protocol asks
	CheckedAt time.Time     // when it was asked
	Latency   time.Duration // until the answer or the failure
	Code      string        // why it is not healthy, lower_snake or what the endpoint said; empty when it is
	Message   string        // likewise, for people
}

// Of returns the health as far as it is that of the endpoint: one that another endpoint
// had says nothing.
func (h Health) Of(endpoint string) Health {
	if h.Endpoint != endpoint {
		return Health{}
	}
	return h
}

// Status sums up what was found.
func (h Health) Status() HealthStatus {
	switch {
	case h.CheckedAt.IsZero():
		return HealthUnknown
	case h.Healthy:
		return Healthy
	}
	return Unhealthy
}

// EndpointOr is the URL that runs the node: its own, else the tenant's; empty when there
// is neither.
func (c *Custom) EndpointOr(tenants string) string {
	if c.state.Endpoint != "" {
		return c.state.Endpoint
	}
	return tenants
}
