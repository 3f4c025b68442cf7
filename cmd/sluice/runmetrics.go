package main

import (
	"context"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/event"
	domainrun "github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// countedWork counts what happens to runs, by the events that are recorded with it.
type countedWork struct {
	outbound.UnitOfWork
	metrics *telemetry.Metrics
}

// Do counts the events of a unit once it has committed.
func (w countedWork) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	var happened []event.Type
	err := w.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		happened = happened[:0] // the unit may run again
		st.Webhooks.Events = notedEvents{st.Webhooks.Events, &happened}
		return fn(ctx, st)
	})
	if err == nil {
		for _, t := range happened {
			w.metrics.RunHappened(domainrun.EventType(t))
		}
	}
	return err
}

// notedEvents notes the types of the recorded events.
type notedEvents struct {
	outbound.EventRepository
	happened *[]event.Type
}

// AppendIfWanted notes events that happen to runs, whether or not anybody subscribed.
func (n notedEvents) AppendIfWanted(ctx context.Context, events ...*event.Event) error {
	if err := n.EventRepository.AppendIfWanted(ctx, events...); err != nil {
		return err
	}
	for _, e := range events {
		*n.happened = append(*n.happened, e.Type())
	}
	return nil
}
