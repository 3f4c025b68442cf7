package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTracesAreWantedWhereTheStandardVariablesSaySo(t *testing.T) {
	skipUnderRace(t)
	const general, traces = otlpEndpoint + "=http://collector:4318", otlpTracesEndpoint + "=https://traces.example/in"
	for _, c := range []struct {
		environ        string
		endpoint, fail string
	}{
		{"", "", ""},
		{general, "http://collector:4318/v1/traces", ""},
		{otlpEndpoint + "=http://collector:4318/", "http://collector:4318/v1/traces", ""},
		{traces, "https://traces.example/in", ""},
		{general + " " + traces, "https://traces.example/in", ""},
		{general + " OTEL_SDK_DISABLED=TRUE", "", ""},
		{general + " OTEL_TRACES_EXPORTER=none", "", ""},
		{general + " OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "http://collector:4318/v1/traces", ""},
		{general + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", "http://collector:4318/v1/traces", ""},
		{otlpEndpoint + "=::bad " + traces, "https://traces.example/in", ""},
		{"OTEL_TRACES_SAMPLER=zzz OTEL_BSP_MAX_QUEUE_SIZE=-1", "", ""},
		{general + " OTEL_TRACES_EXPORTER=none OTEL_TRACES_SAMPLER=zzz", "", ""},
		{"OTEL_TRACES_EXPORTER=console", "", ""},
		{general + " OTEL_TRACES_EXPORTER=console", "", "OTEL_TRACES_EXPORTER must be otlp or none"},
		{general + " OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc", "", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be http/protobuf"},
		{otlpEndpoint + "=collector:4318", "", "OTEL_EXPORTER_OTLP_ENDPOINT must be an http"},
		{otlpTracesEndpoint + "=grpc://user:hunter2@x", "", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http"},
	} {
		cfg, err := readConfig(strings.Fields(c.environ))
		if cfg.tracesEndpoint != c.endpoint || (err == nil) != (c.fail == "") {
			t.Errorf("%q: %q, %v", c.environ, cfg.tracesEndpoint, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.fail) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v", c.environ, err)
		}
	}
}

// wanted makes traces so.
const wanted = otlpEndpoint + "=http://collector:4318"

func TestEveryMistakeInTheStandardVariablesIsNamedAtOnceWithTheGatewaysOwn(t *testing.T) {
	skipUnderRace(t)
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ,
		"SLUICE_LISTEN=nowhere", "SLUICE_MAX_BODY_BYTES=1", "OTEL_EXPORTER_OTLP_ENDPOINT=::bad:hunter2", "OTEL_TRACES_EXPORTER=console",
		"OTEL_SDK_DISABLED=maybe", "OTEL_TRACES_SAMPLER=zzz", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TIMEOUT=abc",
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=-1", "OTEL_EXPORTER_OTLP_HEADERS=hunter2", "OTEL_BSP_MAX_QUEUE_SIZE=-1",
		"OTEL_RESOURCE_ATTRIBUTES=hunter2", "OTEL_SPAN_LINK_COUNT_LIMIT=many")
	code, stdout, stderr := b.run("serve")
	want := `sluice: the configuration is not valid:
SLUICE_LISTEN must be an address and a port, such as 127.0.0.1:8080 or :8080
SLUICE_MAX_BODY_BYTES must be between 1024 and 67108864
OTEL_EXPORTER_OTLP_ENDPOINT must be an http:// or https:// address
OTEL_TRACES_EXPORTER must be otlp or none
OTEL_SDK_DISABLED must be true or false
OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio
OTEL_BSP_MAX_QUEUE_SIZE must be a whole number from 1 to 1000000
OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json: traces are sent over HTTP
OTEL_EXPORTER_OTLP_TIMEOUT must be a whole number of milliseconds from 0 to 86400000
OTEL_EXPORTER_OTLP_HEADERS must be name=value, …, percent-encoded
OTEL_EXPORTER_OTLP_TRACES_TIMEOUT must be a whole number of milliseconds from 0 to 86400000
OTEL_RESOURCE_ATTRIBUTES must be name=value, …, percent-encoded
OTEL_SPAN_LINK_COUNT_LIMIT must be a whole number

All settings: sluice --help
`
	if diff := cmp.Diff(want, stderr); diff != "" || code != exitUsage || stdout != "" {
		t.Errorf("%d, %q\n%s", code, stdout, diff)
	}
}

// written is the file that holds a text.
func written(t *testing.T, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// identity returns files with a certificate and its key.
func identity(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		written(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func TestWhatOpenTelemetryWouldSilentlyIgnoreIsAMistake(t *testing.T) {
	skipUnderRace(t)
	certificate, key := identity(t)
	const export = "OTEL_EXPORTER_OTLP_"
	for claim, c := range map[string]struct {
		environ []string
		want    string // the mistake; "" for none
	}{
		"a ratio that is none":           {[]string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=7"}, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"},
		"a ratio below nothing":          {[]string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=-0.1"}, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"},
		"a ratio that is not a number":   {[]string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN"}, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"},
		"a ratio":                        {[]string{"OTEL_TRACES_SAMPLER= TraceIDRatio ", "OTEL_TRACES_SAMPLER_ARG= 0.25 "}, ""},
		"no ratio":                       {[]string{"OTEL_TRACES_SAMPLER=traceidratio"}, ""},
		"an argument that nobody reads":  {[]string{"OTEL_TRACES_SAMPLER=always_on", "OTEL_TRACES_SAMPLER_ARG=7"}, ""},
		"no time to wait for more spans": {[]string{"OTEL_BSP_SCHEDULE_DELAY=0"}, "OTEL_BSP_SCHEDULE_DELAY must be a whole number of milliseconds from 1 to 86400000"},
		"an export with a unit":          {[]string{"OTEL_BSP_EXPORT_TIMEOUT=30s"}, "OTEL_BSP_EXPORT_TIMEOUT must be a whole number of milliseconds from 0 to 86400000"},
		"a number after a space":         {[]string{"OTEL_BSP_EXPORT_TIMEOUT= 30"}, "OTEL_BSP_EXPORT_TIMEOUT must be a whole number of milliseconds from 0 to 86400000"},
		"a batch larger than the queue":  {[]string{"OTEL_BSP_MAX_QUEUE_SIZE=10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=11"}, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE must not be more than OTEL_BSP_MAX_QUEUE_SIZE, which is 10"},
		"a batch larger than the usual":  {[]string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2049"}, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE must not be more than OTEL_BSP_MAX_QUEUE_SIZE, which is 2048"},
		"a batch without a size":         {[]string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=-1"}, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE must be a whole number from 1 to 1000000"},
		"batches":                        {[]string{"OTEL_BSP_MAX_QUEUE_SIZE=5000", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5000", "OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BSP_EXPORT_TIMEOUT=0"}, ""},
		"a small queue":                  {[]string{"OTEL_BSP_MAX_QUEUE_SIZE=10"}, ""},
		"no limit of attributes":         {[]string{"OTEL_ATTRIBUTE_COUNT_LIMIT=-1"}, ""},
		"a compression":                  {[]string{export + "COMPRESSION=zstd"}, export + "COMPRESSION must be gzip or none"},
		"a switch":                       {[]string{export + "TRACES_INSECURE=1"}, export + "TRACES_INSECURE must be true or false"},
		"a protocol that is none":        {[]string{export + "PROTOCOL=http/xml"}, export + "PROTOCOL must be http/protobuf or http/json: traces are sent over HTTP"},
		"a header's name":                {[]string{export + "HEADERS=a b=c"}, export + "HEADERS must be name=value, …, percent-encoded"},
		"a header's value":               {[]string{export + "TRACES_HEADERS=a=b,c=%zz"}, export + "TRACES_HEADERS must be name=value, …, percent-encoded"},
		"an attribute without a name":    {[]string{"OTEL_RESOURCE_ATTRIBUTES=a=b,=c"}, "OTEL_RESOURCE_ATTRIBUTES must be name=value, …, percent-encoded"},
		"a file that is missing":         {[]string{export + "CERTIFICATE=" + certificate + "x"}, export + "CERTIFICATE must name a file with certificates in PEM"},
		"a file without certificates":    {[]string{export + "CERTIFICATE=" + key}, export + "CERTIFICATE must name a file with certificates in PEM"},
		"a certificate without its key":  {[]string{export + "CLIENT_CERTIFICATE=" + certificate}, export + "CLIENT_CERTIFICATE needs " + export + "CLIENT_KEY too"},
		"a key without its certificate":  {[]string{export + "TRACES_CLIENT_KEY=" + key}, export + "TRACES_CLIENT_KEY needs " + export + "TRACES_CLIENT_CERTIFICATE too"},
		"a key that is none": {[]string{export + "CLIENT_CERTIFICATE=" + certificate, export + "CLIENT_KEY=" + certificate},
			export + "CLIENT_CERTIFICATE and " + export + "CLIENT_KEY must name files with a certificate and its key in PEM"},
		"how traces are sent": {[]string{
			export + "TIMEOUT=0", export + "TRACES_TIMEOUT= 5000 ", export + "COMPRESSION=none", export + "TRACES_COMPRESSION=gzip", export + "INSECURE=True",
			export + "HEADERS=authorization=Basic%20aHVudGVyMg==,x-scope=", export + "CERTIFICATE=" + certificate,
			export + "CLIENT_CERTIFICATE=" + certificate, export + "CLIENT_KEY=" + key, "OTEL_RESOURCE_ATTRIBUTES=a=b, c=d%2Ce", "OTEL_SERVICE_NAME=any thing",
		}, ""},
	} {
		cfg, err := readConfig(append(c.environ, wanted))
		var got string
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), ":\n")
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (cfg.tracesEndpoint != "") {
			t.Errorf("%s: %v\n%s", claim, err, diff)
		}
	}
}

func FuzzStandardVariables(f *testing.F) {
	names := []string{
		otlpEndpoint, otlpTracesEndpoint, otlpProtocol, otelDisabled, otelTracesExporter, otelTracesSampler, otelSamplerArg, otelQueue, otelBatch,
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES",
	}
	for i, value := range []string{"http://a/b", "https://[::1]:4318", "grpc", "TRUE", "none", "always_on", "1e-3", "9", "-1", "1", "0", "a=%20", "a=b"} {
		f.Add(uint8(i), value, uint8(i+1), "")
		f.Add(uint8(5), "traceidratio", uint8(i), value)
	}
	f.Fuzz(func(t *testing.T, one uint8, value string, other uint8, second string) {
		first, last := names[int(one)%len(names)], names[int(other)%len(names)]
		environ := map[string]string{otlpEndpoint: "http://collector:4318", first: value, last: second}
		endpoint, wrong := tracesEndpoint(environ)
		if len(wrong) > 0 && endpoint != "" || endpoint != "" && !isHTTP(endpoint) {
			t.Fatalf("%v: %q, %v", environ, endpoint, wrong)
		}
		for _, err := range wrong {
			if name, _, _ := strings.Cut(err.Error(), " "); environ[name] == "" {
				t.Fatalf("%v: a variable that is not set is wrong: %v", environ, err)
			}
		}
	})
}
