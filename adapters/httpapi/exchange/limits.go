package exchange

import "github.com/sluicehq/sluice/domain/tenant"

// Limits is what the operator sets for a tenant, as both APIs show it.
type Limits struct {
	Public           quota `json:"public"`
	Secret           quota `json:"secret"`
	RunRetentionDays int   `json:"runRetentionDays"`
}

type quota struct {
	RequestsPerMinute  int `json:"requestsPerMinute"`
	ConcurrentRequests int `json:"concurrentRequests"`
}

// LimitsOf returns the limits of a tenant's settings.
func LimitsOf(s tenant.Settings) Limits {
	return Limits{Public: quotaOf(s, tenant.Public), Secret: quotaOf(s, tenant.Secret), RunRetentionDays: s.KeptRunDays()}
}

func quotaOf(s tenant.Settings, t tenant.KeyType) quota {
	q := s.Quota(t)
	return quota{q.PerMinute, q.Concurrent}
}
