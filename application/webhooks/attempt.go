package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// next finds how long it is until a delivery is due.
func (d *Dispatcher) next(ctx context.Context) (wait time.Duration, ok bool, err error) {
	err = d.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		wait, ok, err = st.Webhooks.Queue.Next(ctx)
		return err
	})
	return wait, ok, err
}

// claim leases as many deliveries that are due as can be sent now, of which no more than
// failing go to endpoints that fail. Those that cannot be read are among them.
func (d *Dispatcher) claim(ctx context.Context, free, failing int) (due []outbound.DueDelivery, err error) {
	err = d.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		due, err = st.Webhooks.Queue.Claim(ctx, outbound.DeliveryClaim{
			Period: leasePeriod, Limit: free, Reserved: d.limits.reserved, Failing: failing,
			PerTenant: d.limits.perTenant, PerEndpoint: d.limits.perEndpoint,
		})
		return err
	})
	for _, one := range due {
		if err == nil && one.Unreadable != nil {
			d.unreadable.Add(1)
		}
	}
	return due, err
}

// attempt sends a delivery that was leased, has the outcome recorded, and says whether
// another attempt is to follow. It goes on when ctx is done meanwhile, since the message
// may be on its way already; the sender bounds the time. One that panics has failed: left
// to its lease, it would be made every few seconds for ever.
func (d *Dispatcher) attempt(ctx context.Context, due outbound.DueDelivery, records *recorder) (again bool, err error) {
	ctx = context.WithoutCancel(ctx)
	leased := due.Delivery
	result := &attemptResult{leased: leased, at: due.At, sent: due.Endpoint.Active() || leased.Manual()}
	var panicked error
	if result.sent {
		began := d.clock.Now()
		err = inbound.RecoverPanic("send", func() (err error) {
			result.outcome, err = d.send(ctx, due)
			return err
		})
		switch {
		case inbound.IsPanic(err):
			panicked, result.outcome = err, event.InternalFailure(d.clock.Now().Sub(began))
		case err != nil:
			return false, nameDelivery(leased, err) // it is sent again when its lease has ended
		}
	}
	again, err = records.record(ctx, result)
	return again, nameDelivery(leased, errors.Join(panicked, err))
}

// send signs and sends a delivery once.
func (d *Dispatcher) send(ctx context.Context, due outbound.DueDelivery) (event.AttemptResult, error) {
	body := due.Event.Body()
	var credential connection.Credential
	if id := due.Endpoint.Connection(); id != "" {
		made, err := d.credentials.Credential(ctx, outbound.CredentialUse{Tenant: due.Key.Tenant, SubTenant: due.Endpoint.SubTenant(), Connection: id})
		var known *domain.Error
		switch {
		case errors.As(err, &known) && known.Kind != domain.Internal:
			return event.AttemptResult{Code: known.Code, Error: known.Message}, nil //nolint:nilerr // it is what came of the attempt
		case err != nil:
			return event.AttemptResult{}, err
		}
		credential = made
	}
	return d.sender.Send(ctx, outbound.SignedMessage{
		Credential: credential, Tenant: due.Key.Tenant, URL: due.Endpoint.URL(), Body: body,
		Signature: domain.Sign(due.Endpoint.SigningSecrets(due.At), string(due.Key.Delivery), due.At, body),
	})
}

func nameDelivery(d *event.Delivery, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("delivery %s of %s: %w", d.ID(), d.Tenant(), err)
}
