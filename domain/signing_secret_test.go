package domain_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
)

const secretText = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// parse reads a secret that is one.
func parse(t testing.TB, text string) domain.SigningSecret {
	t.Helper()
	s, err := domain.ParseSigningSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASecretIsReadAndRevealedAsItWas(t *testing.T) {
	made := domain.NewSigningSecret([domain.SecretEntropy]byte{0: 1, 31: 255})
	for _, text := range []string{
		secretText, "whsec_" + strings.Repeat("A", 32), "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 64)),
		"whsec_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8=",
	} {
		if got := parse(t, text).Reveal(); got != text {
			t.Errorf("%q is revealed as %q", text, got)
		}
	}
	if got := made.Reveal(); got != "whsec_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8=" {
		t.Errorf("the random bytes gave %q", got)
	}
	if !made.Equal(parse(t, made.Reveal())) || made.Equal(parse(t, secretText)) || made.Equal(domain.SigningSecret{}) || (domain.SigningSecret{}).Reveal() != "" {
		t.Error("secrets are not told apart")
	}
}

func TestWhatIsNoSecretIsRefusedWithoutRepeatingIt(t *testing.T) {
	for claim, text := range map[string]string{
		"nothing":                  "",
		"no prefix":                "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"another prefix":           "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"23 bytes":                 "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)),
		"65 bytes":                 "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)),
		"no padding":               "whsec_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8",
		"bits that stand for none": "whsec_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP9=",
		"the alphabet of URLs":     "whsec_-_KQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"a line break":             "whsec_MfKQ9r8GKYqrTwjUPD8I\nLPZIo2LaLaSw",
		"a line break at the end":  secretText + "\n",
	} {
		s, err := domain.ParseSigningSecret(text)
		if !errors.Is(err, domain.ErrMalformedSecret) || s.Reveal() != "" || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

func TestNoWayOfPrintingShowsASecret(t *testing.T) {
	s := parse(t, secretText)
	all := domain.SigningSecrets{Current: s}.Rotated(s, time.Hour, time.Time{})
	holders := []any{s, &s, []domain.SigningSecret{s}, all, &all, map[string]any{"secrets": all}, fmt.Errorf("failed: %v %+v", s, all)}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secretText, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range holders {
		var texts []string
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			texts = append(texts, fmt.Sprintf(verb, h))
		}
		if text, err := json.Marshal(h); err == nil {
			texts = append(texts, string(text))
		}
		for _, text := range texts {
			for _, leak := range []string{secretText[6:], string(key), fmt.Sprintf("%x", key), fmt.Sprintf("%d", key), fmt.Sprintf("%#v", key)[8:]} {
				if strings.Contains(text, leak) {
					t.Errorf("%T shows it: %s", h, text)
				}
			}
		}
	}
}

func FuzzParseSigningSecret(f *testing.F) {
	for _, seed := range []string{secretText, "whsec_", "whsec_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8=", "whsec_\n", "sk_x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := domain.ParseSigningSecret(text)
		if (err == nil) != (s.Reveal() == text && text != "") {
			t.Errorf("%q: %v, %q", text, err, s.Reveal())
		}
	})
}
