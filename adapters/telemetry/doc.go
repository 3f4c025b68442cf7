// Package telemetry is the driven adapter that shows how the gateway is doing:
// metrics for Prometheus, traces over OTLP, and the last look that is taken at every
// log line before it is written.
//
// It knows none of the parts that it watches, only the ports that it wraps. Everything else
// has a method here with the types of the language or of the domain, and cmd connects the two.
// What is measured for nobody costs nothing: without a listener for metrics nobody
// gathers, and without an endpoint for traces there is no [Tracing].
package telemetry
