package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The standard variables that say whether traces are wanted, where to, and which
// (OpenTelemetry specification, "OpenTelemetry Protocol Exporter" and "Environment
// Variable Specification"). OpenTelemetry's own code reads these and more; of one that
// is wrong it takes the default, or ends the process.
const (
	otlpEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otlpTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	otlpProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	otlpTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	otelDisabled       = "OTEL_SDK_DISABLED"
	otelTracesExporter = "OTEL_TRACES_EXPORTER"
	otelTracesSampler  = "OTEL_TRACES_SAMPLER"
	otelSamplerArg     = "OTEL_TRACES_SAMPLER_ARG"
	otelBatch          = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
	otelQueue          = "OTEL_BSP_MAX_QUEUE_SIZE"
)

// defaultQueue is what otelQueue is where it is not set.
const defaultQueue = 2048

// day is the longest time that makes sense here, in milliseconds.
const day = int(24 * time.Hour / time.Millisecond)

const inMilliseconds = "must be a whole number of milliseconds from 0 to 86400000"

// samplers are those that OpenTelemetry's own code knows here.
var samplers = []string{
	"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
}

// standardSettings are those that are not the gateway's own.
var standardSettings = []settingHelp{
	{otlpEndpoint, "", "receiver of traces (OTLP over HTTP), such as http://collector:4318; /v1/traces is appended (default: no traces)"},
	{otlpTracesEndpoint, "", "the same, the whole URL"},
	{"OTEL_SERVICE_NAME", "sluice", "name of this service in traces"},
	{otelTracesSampler, "parentbased_always_on", "which requests are traced; these and every other OTEL_ variable mean what OpenTelemetry says, but one that is wrong stops the start"},
}

// tracesEndpoint returns the URL that traces are sent to, or "" where none are wanted,
// and everything that is wrong with the variables that matter where they are.
func tracesEndpoint(environ map[string]string) (string, []error) {
	name := firstSet(environ, otlpTracesEndpoint, otlpEndpoint)
	endpoint, exporter := trimmed(environ, name), trimmed(environ, otelTracesExporter)
	if endpoint == "" || exporter == "none" || strings.EqualFold(trimmed(environ, otelDisabled), "true") {
		return "", nil
	}
	s := standard{environ: environ}
	s.check(isHTTP(endpoint), name, "must be an http:// or https:// address")
	s.check(exporter == "" || exporter == "otlp", otelTracesExporter, "must be otlp or none")
	s.checkEach([]string{otelDisabled}, isSwitch, "must be true or false")
	s.checkSampler()
	s.checkBatches()
	s.checkExport()
	s.checkEach([]string{"OTEL_RESOURCE_ATTRIBUTES"}, isPairs, "must be name=value, …, percent-encoded")
	s.checkNumbers([]string{
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
		"OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
	}, math.MinInt32, math.MaxInt32, "must be a whole number")
	if len(s.wrong) > 0 {
		return "", s.wrong
	}
	if name == otlpTracesEndpoint {
		return endpoint, nil
	}
	whole, err := url.JoinPath(endpoint, "v1", "traces")
	s.check(err == nil, name, "must be an http:// or https:// address")
	return whole, s.wrong
}

// trimmed returns a variable as OpenTelemetry's exporter reads it.
func trimmed(environ map[string]string, name string) string { return strings.TrimSpace(environ[name]) }

// firstSet returns the first variable that is set, or the last one.
func firstSet(environ map[string]string, names ...string) string {
	for _, name := range names {
		if trimmed(environ, name) != "" {
			return name
		}
	}
	return names[len(names)-1]
}

// standard collects what is wrong with standard variables. It never shows a value, which
// may hold a password.
type standard struct {
	environ map[string]string
	wrong   []error
}

func (s *standard) check(ok bool, name, message string) {
	if !ok {
		s.wrong = append(s.wrong, fmt.Errorf("%s %s", name, message))
	}
}

// checkEach checks those variables that are set.
func (s *standard) checkEach(names []string, ok func(string) bool, message string) {
	for _, name := range names {
		if text := trimmed(s.environ, name); text != "" {
			s.check(ok(text), name, message)
		}
	}
}

// checkNumbers checks those variables that are set. Unlike others they may not be
// surrounded by spaces.
func (s *standard) checkNumbers(names []string, least, most int, message string) {
	for _, name := range names {
		if text := s.environ[name]; text != "" {
			s.check(isWhole(text, least, most), name, message)
		}
	}
}

func (s *standard) checkSampler() {
	sampler := strings.ToLower(trimmed(s.environ, otelTracesSampler))
	s.check(sampler == "" || slices.Contains(samplers, sampler), otelTracesSampler, "must be one of "+strings.Join(samplers, ", "))
	if !strings.HasSuffix(sampler, "traceidratio") {
		return // the others have no argument
	}
	s.checkEach([]string{otelSamplerArg}, func(text string) bool {
		ratio, err := strconv.ParseFloat(text, 64)
		return err == nil && ratio >= 0 && ratio <= 1
	}, "must be a number from 0 to 1")
}

// checkBatches checks how spans are collected until they are sent. The memory for the
// most that may wait is taken at the start.
func (s *standard) checkBatches() {
	s.checkNumbers([]string{"OTEL_BSP_SCHEDULE_DELAY"}, 1, day, "must be a whole number of milliseconds from 1 to 86400000")
	s.checkNumbers([]string{"OTEL_BSP_EXPORT_TIMEOUT"}, 0, day, inMilliseconds)
	before := len(s.wrong)
	s.checkNumbers([]string{otelQueue, otelBatch}, 1, 1_000_000, "must be a whole number from 1 to 1000000")
	if len(s.wrong) > before {
		return
	}
	queue := defaultQueue
	if text := s.environ[otelQueue]; text != "" {
		queue, _ = strconv.Atoi(text) // which was checked
	}
	s.checkNumbers([]string{otelBatch}, 1, queue, fmt.Sprintf("must not be more than %s, which is %d", otelQueue, queue))
}

// checkExport checks what is said of sending, to all receivers or to that of traces.
func (s *standard) checkExport() {
	s.checkEach([]string{firstSet(s.environ, otlpTracesProtocol, otlpProtocol)}, func(text string) bool {
		return text == "http/protobuf" || text == "http/json"
	}, "must be http/protobuf or http/json: traces are sent over HTTP")
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		s.checkEach([]string{prefix + "TIMEOUT"}, func(text string) bool { return isWhole(text, 0, day) }, inMilliseconds)
		s.checkEach([]string{prefix + "COMPRESSION"}, func(text string) bool { return text == "gzip" || text == "none" }, "must be gzip or none")
		s.checkEach([]string{prefix + "INSECURE"}, isSwitch, "must be true or false")
		s.checkEach([]string{prefix + "HEADERS"}, isHeaders, "must be name=value, …, percent-encoded")
		s.checkEach([]string{prefix + "CERTIFICATE"}, holdsCertificates, "must name a file with certificates in PEM")
		s.checkClient(prefix+"CLIENT_CERTIFICATE", prefix+"CLIENT_KEY")
	}
}

// checkClient checks what this process shows of itself, if it does.
func (s *standard) checkClient(certificate, key string) {
	shown, with := trimmed(s.environ, certificate), trimmed(s.environ, key)
	switch {
	case shown == "" && with == "":
	case with == "":
		s.check(false, certificate, "needs "+key+" too")
	case shown == "":
		s.check(false, key, "needs "+certificate+" too")
	default:
		_, err := tls.LoadX509KeyPair(shown, with)
		s.check(err == nil, certificate, "and "+key+" must name files with a certificate and its key in PEM")
	}
}

func isWhole(text string, least, most int) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= least && n <= most
}

func isSwitch(text string) bool {
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
}

// isPairs says whether a text is a list of name=value.
func isPairs(text string) bool {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !found || strings.TrimSpace(name) == "" || err != nil {
			return false
		}
	}
	return true
}

// headerName is a token (RFC 9110, section 5.6.2).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// isHeaders says whether a text is a list of name=value whose names a header may have.
func isHeaders(text string) bool {
	for pair := range strings.SplitSeq(text, ",") {
		if name, _, _ := strings.Cut(pair, "="); !headerName.MatchString(strings.TrimSpace(name)) {
			return false
		}
	}
	return isPairs(text)
}

func holdsCertificates(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && x509.NewCertPool().AppendCertsFromPEM(text)
}
