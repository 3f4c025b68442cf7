package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// runChanges are the events of what happens to runs, with their labels.
var runChanges = map[event.Type]string{
	event.RunStarted: "started", event.RunCompleted: "completed", event.RunFailed: "failed", event.RunCancelled: "cancelled",
	event.RunPaused: "paused", event.RunResumed: "resumed",
}

func newRuns(register promauto.Factory) *prometheus.CounterVec {
	changes := register.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "run_changes_total", Help: "What happened to runs, as recorded by this process.",
	}, []string{"change"})
	for _, label := range runChanges {
		changes.WithLabelValues(label)
	}
	return changes
}

// UnitOfWork returns a unit of work that does what the given one does, and counts what
// happens to runs, by the events that are recorded with it.
func (m *Metrics) UnitOfWork(work outbound.UnitOfWork) outbound.UnitOfWork {
	return watchedWork{work, func(_ context.Context, happened []*event.Event) {
		for _, e := range happened {
			m.runs.WithLabelValues(runChanges[e.Type()]).Inc()
		}
	}}
}

// watchedWork reports what happened to runs once a unit has committed.
type watchedWork struct {
	outbound.UnitOfWork
	report func(context.Context, []*event.Event)
}

// Do reports the events of runs that a unit recorded, once it has committed.
func (w watchedWork) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	var happened []*event.Event
	err := w.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		happened = happened[:0] // the unit may run again
		st.Webhooks.Events = notedEvents{st.Webhooks.Events, &happened}
		return fn(ctx, st)
	})
	if err == nil && len(happened) > 0 {
		w.report(ctx, happened)
	}
	return err
}

// notedEvents notes what happened to runs.
type notedEvents struct {
	outbound.EventRepository
	happened *[]*event.Event
}

// AppendIfWanted notes events that happen to runs, whether or not anybody subscribed.
func (n notedEvents) AppendIfWanted(ctx context.Context, events ...*event.Event) error {
	if err := n.EventRepository.AppendIfWanted(ctx, events...); err != nil {
		return err
	}
	for _, e := range events {
		if _, ok := runChanges[e.Type()]; ok {
			*n.happened = append(*n.happened, e)
		}
	}
	return nil
}
