package tenant

import "github.com/sluicehq/sluice/domain"

// Quota is how much one type of a tenant's keys may ask of the gateway.
type Quota struct {
	PerMinute  int // requests in any 60 seconds, at least 1
	Concurrent int // requests at the same time, at least 1
}

// maxQuota keeps an override within what a limiter can count.
const maxQuota = 1_000_000

// DefaultQuota is the limit for a type of key where nothing else is set: 100 requests a
// minute and 20 at once for a public key, 1000 and 100 for a secret key; 300 and 20 for
// each subject of embed tokens; 600 and 50 for each session of a member.
func DefaultQuota(t KeyType) Quota {
	switch t {
	case Secret:
		return Quota{PerMinute: 1000, Concurrent: 100}
	case Embed:
		return Quota{PerMinute: 300, Concurrent: 20}
	case Session:
		return Quota{PerMinute: 600, Concurrent: 50}
	default:
		return Quota{PerMinute: 100, Concurrent: 20}
	}
}

func (q Quota) check(r *domain.Rules, path string) {
	for _, bound := range []struct {
		member string
		value  int
	}{{"requestsPerMinute", q.PerMinute}, {"concurrentRequests", q.Concurrent}} {
		field := domain.Member(path, bound.member)
		r.Check(bound.value >= 1, field, domain.TooSmall, "must be at least 1, not %d", bound.value)
		r.Check(bound.value <= maxQuota, field, domain.TooLarge, "must be at most %d, not %d", maxQuota, bound.value)
	}
}
