package telemetry

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names this code in what is exported.
const scope = "github.com/sluicehq/sluice"

// serviceName is the service's where OTEL_SERVICE_NAME names none.
const serviceName = "sluice"

// Tracing exports spans over OTLP/HTTP. A nil *Tracing traces nothing: its methods may
// be called, and cost nothing.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	incoming propagation.TextMapPropagator
}

// NewTracing exports to the endpoint, the whole URL of an OTLP/HTTP receiver for
// traces. Everything else is read from the standard OTEL_… variables of the process
// (OpenTelemetry specification, "Environment Variable Specification"): the headers and
// timeout of the export, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
// OTEL_TRACES_SAMPLER, OTEL_BSP_…. Of one that is wrong the default is taken in most
// cases; a caller who wants to know looks first. It does not try to reach the receiver: spans that
// cannot be exported are dropped, and [go.opentelemetry.io/otel.SetErrorHandler] hears
// of it.
func NewTracing(ctx context.Context, endpoint, version string) (*Tracing, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// A later detector wins over an earlier one.
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", serviceName), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: describe this process: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer(scope), incoming: propagation.TraceContext{}}, nil
}

// Shutdown exports what has not been yet, until ctx ends. No span that ends later is
// exported.
func (t *Tracing) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("traces: export the last spans: %w", err)
	}
	return nil
}

// LogTraces is a hook for a logger: it puts the identifiers of the span in an event's
// context, if there is one, into the event.
type LogTraces struct{}

var _ zerolog.Hook = LogTraces{}

// Run adds traceId and spanId.
func (LogTraces) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	if span := trace.SpanContextFromContext(e.GetCtx()); span.IsValid() {
		e.Str("traceId", span.TraceID().String()).Str("spanId", span.SpanID().String())
	}
}
