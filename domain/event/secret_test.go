package event_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
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

func TestNoWayOfPrintingAnEndpointShowsItsSecrets(t *testing.T) {
	s := parse(t, secretText)
	e := endpoint(t, event.EndpointDraft{URL: "https://example.com"})
	e.RotateSecret(s, noon)
	e.RotateSecret(s, noon)
	holders := []any{s, &s, []domain.SigningSecret{s}, e, e.State(), *e, map[string]any{"state": e.State()}, fmt.Errorf("failed: %v %+v", s, e)}
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
