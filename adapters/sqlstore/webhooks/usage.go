package webhooks

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/usage"
)

// UsageOf is what a delivery counts for from when it ends.
func UsageOf(status event.Status) (c usage.Counts) {
	switch status {
	case event.Delivered:
		c.Delivered = 1
	case event.Failed:
		c.DeliveriesFailed = 1
	case event.Pending:
	}
	return c
}

// countDeliveries counts deliveries that have ended now.
func (u *unit) countDeliveries(deliveries []*event.Delivery) {
	for _, d := range deliveries {
		u.CountUsage(d.Tenant(), usage.DayOf(d.UpdatedAt()), UsageOf(d.Status()))
	}
}

// countReplaced notes that a delivery which has ended will not say so any more: it is changed.
func (u *unit) countReplaced(ctx context.Context, d *event.Delivery) error {
	var row struct {
		Status    string       `db:"status"`
		UpdatedAt core.Instant `db:"updated_at"`
	}
	err := u.ReadRow(ctx, "read delivery", &row, `SELECT status, updated_at FROM webhook_deliveries WHERE tenant_id = $1 AND id = $2`, string(d.Tenant()), string(d.ID()))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		u.CountRemoved(d.Tenant(), usage.DayOf(row.UpdatedAt.Time), UsageOf(event.Status(row.Status)))
	}
	return err
}
