package telemetry_test

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/tenant"
)

const cut = telemetry.Redacted

func redacted(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	n, err := telemetry.Redact(&out).Write([]byte(text))
	if n != len(text) || err != nil {
		t.Errorf("wrote %d of %d bytes of %q: %v", n, len(text), text, err)
	}
	return out.String()
}

func TestSecretsAreHiddenAndNothingElseIs(t *testing.T) {
	secret := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{1, 2, 3}).Reveal()
	public := tenant.NewKeyText(tenant.Public, [tenant.KeyEntropy]byte{4}).Reveal()
	const webhook = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/x="
	for text, want := range map[string]string{
		"":                                  "",
		"no secret":                         "no secret",
		secret:                              "sk_" + cut,
		`{"key":"` + public + `","n":1}`:    `{"key":"pk_` + cut + `","n":1}`,
		"two in a row: " + secret + public:  "two in a row: sk_" + cut + "_" + cut,
		secret + " " + secret:               "sk_" + cut + " sk_" + cut,
		"?key=" + secret[:19] + "&":         "?key=sk_" + cut + "&",
		"cut off shorter: " + secret[:18]:   "cut off shorter: " + secret[:18],
		webhook + `"`:                       "whsec_" + cut + `"`,
		"sk_" + secret:                      "sk_sk_" + cut,
		"a name: task_description, pk_":     "a name: task_description, pk_",
		"tenant_01jd2vqk3mfx8s9t0v5w7y1z2a": "tenant_01jd2vqk3mfx8s9t0v5w7y1z2a",
		"whk_01jd2vqk3mfx8s9t0v5w7y1z2a":    "whk_01jd2vqk3mfx8s9t0v5w7y1z2a",
	} {
		if got := redacted(t, text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

// oracle finds what has the shape of a secret, slowly.
var oracle = regexp.MustCompile(`[ps]k_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=_-]{16,}`)

func FuzzRedact(f *testing.F) {
	secret := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{7}).Reveal()
	for _, seed := range []string{
		"", secret, `{"a":"` + secret + `"}`, secret[:30] + "_" + secret, "whsec_" + secret[3:] + "_", "sk_sk_sk_pk_whsec_whsec_",
		"pk_" + strings.Repeat("a", 15), "pk_" + strings.Repeat("a", 16), "whsec_sk_0123456789abcdef",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		got := redacted(t, string(text))
		if !bytes.Equal(before, text) {
			t.Errorf("the line itself was changed")
		}
		if oracle.Match(text) == (got == string(text)) {
			t.Errorf("%q became %q", text, got)
		}
		if left := oracle.FindString(got); left != "" {
			t.Errorf("%q became %q, with %q", text, got, left)
		}
	})
}

// failing accepts nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAWriterThatFailsIsReported(t *testing.T) {
	for _, text := range []string{"plain", "sk_" + strings.Repeat("a", 40)} {
		if _, err := telemetry.Redact(failing{}).Write([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestALoggersFieldsAreHidden(t *testing.T) {
	var out bytes.Buffer
	secret := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{9}).Reveal()
	log := zerolog.New(telemetry.Redact(&out))
	log.Info().Str("cause", "open "+secret+": \"refused\"").Msg("failed")
	if want := `{"level":"info","cause":"open sk_[redacted]: \"refused\"","message":"failed"}` + "\n"; out.String() != want {
		t.Errorf("logged %s", out.String())
	}
}

func BenchmarkRedact(b *testing.B) {
	line := []byte(`{"level":"info","requestId":"req_01jd2vqk3mfx8s9t0v5w7y1z2a","method":"POST","route":"/v1/gateway/triggers/:id","tenantId":"tenant_01jd2vqk3mfx8s9t0v5w7y1z2a","keyId":"key_01jd2vqk3mfx8s9t0v5w7y1z2a","status":201,"bytes":412,"durationMs":0.812,"client":"127.0.0.1","time":"2026-11-21T12:00:00.000Z","message":"request"}`)
	w := telemetry.Redact(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(line); err != nil {
			b.Fatal(err)
		}
	}
}
