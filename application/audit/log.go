package audit

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// batch is how many entries are read at a time: with the longest values, a few megabytes.
const batch = 200

// Log implements inbound.AuditLog.
type Log struct{ work outbound.UnitOfWork }

var _ inbound.AuditLog = (*Log)(nil)

// NewLog returns the service.
func NewLog(work outbound.UnitOfWork) *Log { return &Log{work} }

// List returns a page of entries.
func (l *Log) List(ctx context.Context, who tenant.Caller, f audit.Filter, q domain.Query) (found domain.Page[audit.Entry], err error) {
	if err = who.May(tenant.ReadAuditLog); err != nil {
		return found, err
	}
	err = l.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Audit.Log.List(ctx, who.Tenant(), f, q)
		return err
	})
	return found, err
}

// Export hands out all entries that fit.
func (l *Log) Export(ctx context.Context, who tenant.Caller, f audit.Filter, take func([]audit.Entry) error) error {
	if err := who.May(tenant.ReadAuditLog); err != nil {
		return err
	}
	return export(ctx, l.work, who.Tenant(), f, take)
}

func export(ctx context.Context, work outbound.UnitOfWork, owner tenant.ID, f audit.Filter, take func([]audit.Entry) error) error {
	var place outbound.AuditPlace
	for {
		var found []audit.Entry
		err := work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			found, err = st.Audit.Log.After(ctx, owner, f, place, batch)
			return err
		})
		if err != nil || len(found) == 0 {
			return err
		}
		if err := take(found); err != nil {
			return err
		}
		last := found[len(found)-1]
		place = outbound.AuditPlace{At: last.At, ID: last.ID}
	}
}

// Chains implements inbound.AuditChains.
type Chains struct{ work outbound.UnitOfWork }

var _ inbound.AuditChains = (*Chains)(nil)

// NewChains returns the service.
func NewChains(work outbound.UnitOfWork) *Chains { return &Chains{work} }

// Export hands out all entries of a log that fit.
func (c *Chains) Export(ctx context.Context, owner tenant.ID, f audit.Filter, take func([]audit.Entry) error) error {
	return export(ctx, c.work, owner, f, take)
}

// Heads hands out all heads.
func (c *Chains) Heads(ctx context.Context, take func(audit.Head) error) error {
	var behind *tenant.ID
	for {
		var found []audit.Head
		err := c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			found, err = st.Audit.Chain.Heads(ctx, behind, batch)
			return err
		})
		if err != nil || len(found) == 0 {
			return err
		}
		for _, h := range found {
			if err := take(h); err != nil {
				return err
			}
		}
		behind = &found[len(found)-1].Tenant
	}
}

// Verify goes through a chain. What is sealed meanwhile is left to the next time; where old entries are removed
// meanwhile, it begins again.
func (c *Chains) Verify(ctx context.Context, owner tenant.ID, known *audit.Known, progress func(checked int64)) (*audit.Verifier, error) {
	for {
		head, err := c.head(ctx, owner)
		if err != nil {
			return nil, err
		}
		v := audit.NewVerifier(head, known)
		if err := c.verify(ctx, owner, head, v, progress); err != nil {
			return nil, err
		}
		now, err := c.head(ctx, owner)
		if err != nil || now.Pruned == head.Pruned {
			return v, err
		}
	}
}

func (c *Chains) head(ctx context.Context, owner tenant.ID) (head audit.Head, err error) {
	err = c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		head, err = st.Audit.Chain.Head(ctx, owner)
		return err
	})
	return head, err
}

func (c *Chains) verify(ctx context.Context, owner tenant.ID, head audit.Head, v *audit.Verifier, progress func(int64)) error {
	defer v.Finish()
	for at := head.Pruned.Sequence; ; progress(v.Checked) {
		var part []audit.Entry
		var end int64
		err := c.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			if part, err = st.Audit.Chain.Sealed(ctx, owner, at, batch); err != nil {
				return err
			}
			now, err := st.Audit.Chain.Head(ctx, owner)
			end = now.Sequence
			return err
		})
		if err != nil || len(part) == 0 {
			return err
		}
		for _, e := range part {
			if at = e.Sequence; at > head.Sequence && at <= end { // sealed since it began
				return nil
			}
			v.Next(e)
		}
	}
}
