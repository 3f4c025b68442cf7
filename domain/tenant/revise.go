package tenant

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Patch names what the operator changes about a tenant; nil leaves a member as it is.
type Patch struct {
	Name             *string
	Language         *Language
	Quotas           map[KeyType]QuotaPatch
	RunRetentionDays *int // how many days finished runs are kept
	Budgets          map[BudgetName]BudgetPatch
	Metadata         domain.MetadataPatch
	Malformed        []domain.Violation // what was found while the request was read; reported with the rest
}

// QuotaPatch overrides parts of a quota; nil leaves a part as it is.
type QuotaPatch struct {
	PerMinute  *int
	Concurrent *int
}

// Revise changes what the patch names, as a whole or not at all. It looks at no other
// settings: what the tenant chose itself is never in the operator's way. Every violation
// is reported at once, with the code tenant_invalid.
func (t *Tenant) Revise(p Patch, now time.Time) error {
	name, s := t.state.Name, t.state.Settings.clone()
	domain.Set(&name, p.Name)
	domain.Set(&s.Language, p.Language)
	if p.RunRetentionDays != nil {
		s.RunRetentionDays = domain.CopyOf(p.RunRetentionDays)
	}
	for kt, part := range p.Quotas {
		q := s.Quota(kt)
		domain.Set(&q.PerMinute, part.PerMinute)
		domain.Set(&q.Concurrent, part.Concurrent)
		if s.Quotas == nil {
			s.Quotas = make(map[KeyType]Quota, len(p.Quotas))
		}
		s.Quotas[kt] = q
	}
	var r domain.Rules
	r.Add(p.Malformed...)
	checkName(&r, name)
	s.Language.check(&r, "language")
	s.checkLimits(&r)
	s.Budgets = s.Budgets.revised(p.Budgets, &r)
	metadata := t.state.Metadata.Revised(&r, p.Metadata)
	if err := r.Err("tenant_invalid", "The tenant is not valid."); err != nil {
		return err
	}
	t.state.Name, t.state.Settings, t.state.Metadata, t.state.UpdatedAt = name, s, metadata, now
	return nil
}
