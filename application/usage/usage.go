// Package usage implements inbound.Usage and inbound.OperatorUsage, and keeps what was counted.
package usage

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Usage and inbound.OperatorUsage.
type Service struct {
	work  outbound.UnitOfWork
	clock outbound.Clock
}

var (
	_ inbound.Usage         = (*Service)(nil)
	_ inbound.OperatorUsage = (*Service)(nil)
)

// New returns the service.
func New(work outbound.UnitOfWork, clock outbound.Clock) *Service { return &Service{work, clock} }

// Now is the time.
func (s *Service) Now() time.Time { return s.clock.Now() }

// Get reads what the caller's tenant used.
func (s *Service) Get(ctx context.Context, who tenant.Caller, p usage.Period) (found usage.Report, err error) {
	if err := who.May(tenant.ReadUsage); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if found, err = s.report(ctx, st, who.Tenant(), p); err != nil {
			return err
		}
		standings, err := s.standings(ctx, st, who.Tenant())
		found.Standing = standings[who.Tenant()]
		return err
	})
	return found, err
}

// List reads what a page of tenants used.
func (s *Service) List(ctx context.Context, f tenant.Filter, q domain.Query, p usage.Period) (found domain.Page[usage.Report], err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		page, err := st.Tenants.List(ctx, f, q)
		if err != nil {
			return err
		}
		found = domain.Page[usage.Report]{Items: make([]usage.Report, len(page.Items)), Total: page.Total, Limit: page.Limit, Offset: page.Offset}
		of := make([]tenant.ID, len(page.Items))
		for i, ten := range page.Items {
			of[i] = ten.ID()
		}
		standings, err := s.standings(ctx, st, of...)
		if err != nil {
			return err
		}
		for i, ten := range page.Items {
			if found.Items[i], err = s.report(ctx, st, ten.ID(), p); err != nil {
				return err
			}
			found.Items[i].Standing = standings[ten.ID()]
		}
		return nil
	})
	return found, err
}

// standings are what tenants use of their budgets now.
func (s *Service) standings(ctx context.Context, st outbound.Stores, of ...tenant.ID) (map[tenant.ID]usage.Standing, error) {
	all, err := st.Usage.Budgets.Standings(ctx, usage.MonthOf(s.clock.Now()), of...)
	by := make(map[tenant.ID]usage.Standing, len(all))
	for _, one := range all {
		by[one.Tenant] = one
	}
	return by, err
}

func (s *Service) report(ctx context.Context, st outbound.Stores, owner tenant.ID, p usage.Period) (report usage.Report, err error) {
	days, err := st.Usage.Log.Days(ctx, owner, usage.DayOf(p.From), usage.DayOf(p.To))
	if err != nil {
		return report, err
	}
	if now := s.clock.Now(); !now.Before(p.From) && now.Before(p.To) {
		kept, err := st.Usage.Log.Kept(ctx, owner)
		if err != nil {
			return report, err
		}
		days = usage.KeptNow(days, usage.DayOf(now), kept)
	}
	return usage.NewReport(owner, p, days), nil
}
