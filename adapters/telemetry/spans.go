package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// RequestBegan starts the span of a request that a client made, as a child of the
// client's where the header traceparent names one (W3C Trace Context). The span is in
// the context returned, for [Tracing.RequestEnded].
func (t *Tracing) RequestBegan(ctx context.Context, header http.Header, method, route string) context.Context {
	if t == nil {
		return ctx
	}
	ctx = t.incoming.Extract(ctx, propagation.HeaderCarrier(header))
	ctx, _ = t.tracer.Start(ctx, methodLabel(method)+" "+routeLabel(route), trace.WithSpanKind(trace.SpanKindServer))
	return ctx
}

// RequestEnded ends the span in ctx.
func (t *Tracing) RequestEnded(ctx context.Context, r Request) {
	if t == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	defer span.End()
	if !span.IsRecording() {
		return
	}
	// The names are those of OpenTelemetry's semantic conventions for HTTP, and the
	// gateway's own below its name.
	attributes := []attribute.KeyValue{
		attribute.String("http.request.method", methodLabel(r.Method)), attribute.Int("http.response.status_code", r.Status),
		attribute.String("sluice.request.id", r.RequestID),
	}
	add := func(name, value string) {
		if value != "" {
			attributes = append(attributes, attribute.String(name, value))
		}
	}
	add("http.route", r.Route)
	add("sluice.tenant.id", string(r.Tenant))
	add("error.type", r.Code)
	span.SetAttributes(attributes...)
	if r.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, r.Code)
	}
}
