package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// UnitOfWork returns a unit of work that does what the given one does, in a span. It
// is the given one itself where nothing is traced.
func (t *Tracing) UnitOfWork(work outbound.UnitOfWork) outbound.UnitOfWork {
	if t == nil {
		return work
	}
	return tracedWork{work, t.tracer}
}

// tracedWork wraps units of work in spans.
type tracedWork struct {
	work   outbound.UnitOfWork
	tracer trace.Tracer
}

var _ outbound.UnitOfWork = tracedWork{}

// Do runs the unit in a span that lasts until it is committed.
func (w tracedWork) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.traced(ctx, "unit of work", w.work.Do, fn)
}

// View runs the unit in a span.
func (w tracedWork) View(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.traced(ctx, "view", w.work.View, fn)
}

// Read runs the unit in a span.
func (w tracedWork) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.traced(ctx, "read", w.work.Read, fn)
}

type runUnit func(context.Context, func(context.Context, outbound.Stores) error) error

func (w tracedWork) traced(ctx context.Context, name string, run runUnit, fn func(context.Context, outbound.Stores) error) error {
	runs := 0
	return inSpan(ctx, w.tracer, name, func(ctx context.Context) error {
		return run(ctx, func(ctx context.Context, st outbound.Stores) error {
			runs++
			return fn(ctx, st)
		})
	}, func() attribute.KeyValue { return attribute.Int("sluice.unit.runs", runs) }) // more than one: it collided with another unit
}

// inSpan calls fn in a span, with an attribute that is known afterwards.
func inSpan(ctx context.Context, tracer trace.Tracer, name string, fn func(context.Context) error, known func() attribute.KeyValue) error {
	ctx, span := tracer.Start(ctx, name)
	defer span.End()
	err := fn(ctx)
	if !span.IsRecording() {
		return err
	}
	span.SetAttributes(known())
	if err != nil {
		// Only the kind: the text may hold what a client sent.
		kind := domain.KindOf(err)
		span.SetAttributes(attribute.String("error.type", string(kind)))
		if kind == domain.Internal || kind == domain.Unavailable {
			span.SetStatus(codes.Error, string(kind))
		}
	}
	return err
}

// TriggerInserter returns an inserter that does what the given one does, in a span. A batch is
// in the trace of the request that commits it.
func (t *Tracing) TriggerInserter(inserter outbound.TriggerInserter) outbound.TriggerInserter {
	if t == nil {
		return inserter
	}
	return tracedInserter{inserter, t.tracer}
}

type tracedInserter struct {
	outbound.TriggerInserter
	tracer trace.Tracer
}

// Insert adds triggers in a span.
func (i tracedInserter) Insert(ctx context.Context, all []*outbound.NewTrigger) error {
	return inSpan(ctx, i.tracer, "insert triggers", func(ctx context.Context) error { return i.TriggerInserter.Insert(ctx, all) },
		func() attribute.KeyValue { return attribute.Int("sluice.batch.size", len(all)) })
}
