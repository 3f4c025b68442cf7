package telemetry_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
)

func TestASecretWithoutAShapeIsHiddenHoweverItIsWritten(t *testing.T) {
	for _, secret := range []string{"operator-of-the-tests_7f3a91c4d2e8", `quoted"and\slashed<&>'%s-0123456789`, strings.Repeat("a", 40)} {
		var out bytes.Buffer
		log := zerolog.New(telemetry.Hide(&out, secret))
		log.Info().Str("path", "/x/"+secret).Str("cause", secret+" and "+secret).Str("requestId", secret[:20]).Msg(secret)
		log.Warn().Str("body", strconv.Quote("about "+secret)).Send()
		log.Info().Msg("nothing of it")
		text := out.String()
		var inside map[string]any
		for line := range strings.Lines(text) {
			if err := json.Unmarshal([]byte(line), &inside); err != nil {
				t.Errorf("%s is no JSON any more: %v", line, err)
			}
			for name, value := range inside {
				if held, _ := value.(string); strings.Contains(held, secret) {
					t.Errorf("%s shows it: %s", name, line)
				}
			}
		}
		if found := strings.Count(text, telemetry.Hidden); found != 5 || !strings.Contains(text, `"path":"/x/…","cause":"… and …"`) || !strings.Contains(text, `"nothing of it"`) {
			t.Errorf("%d were hidden in %s", found, text)
		}
	}
}

func TestWithoutASecretNothingIsHidden(t *testing.T) {
	var out bytes.Buffer
	if w := telemetry.Hide(&out, ""); w != &out {
		t.Errorf("the writer is %T", w)
	}
	if _, err := telemetry.Hide(failing{}, "secret").Write([]byte("plain")); err == nil {
		t.Error("no error")
	}
}
