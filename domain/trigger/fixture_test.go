package trigger_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

const (
	id    = trigger.ID("trg_01kg2m8qpefx4tsjvnb6ax0c9d")
	owner = tenant.ID("tenant_01kg2m8qpefx4tsjvnb6ax0c9e")
)

var (
	created = at("2026-05-01T10:00:00Z")
	later   = at("2026-05-02T11:30:00Z")
)

// jsonNumber spells a whole number in one of the ways that JSON permits.
func jsonNumber(t *rapid.T, n int64) string {
	text := strconv.FormatInt(n, 10)
	return rapid.SampledFrom([]string{text, text + ".000", text + "e0", text + "0E-1", text + "00e-2"}).Draw(t, "spelling")
}

// reports renders violations one a line: the field, the code and the message.
func reports(violations []domain.Violation) string {
	var b strings.Builder
	for _, v := range violations {
		b.WriteString(v.Field + " [" + string(v.Code) + "] " + v.Message + "\n")
	}
	return b.String()
}

func TestTheMessagesSayWhatWouldBeRight(t *testing.T) {
	d := trigger.Draft{Version: "other", Type: "cron", Config: new(domain.RestoreDocument(`{"webhookConfig":{"event":"paid"}}`))}
	settings := tenant.Settings{Events: []tenant.Event{{Name: "ordered"}}}
	for want, d := range map[string]trigger.Draft{
		"workflowVersionId [unknown] does not exist; it must be the id of one of your workflow versions\n" +
			"name [required] must not be empty\n" +
			"type [not_allowed] must be \"schedule\" or \"webhook\", not \"cron\"\n" +
			"config.webhookConfig.event [unknown] must be one of the events in your settings; there is no \"paid\"\n": d,
		"workflowVersionId [required] must not be empty\n" +
			"name [required] must not be empty\n" +
			"type [required] must be \"schedule\" or \"webhook\"\n" +
			"config [required] must be given; it may be an empty object\n": {},
	} {
		_, err := trigger.New(id, owner, trigger.Surroundings{Settings: settings}, d, created)
		var e *domain.Error
		if !errors.As(err, &e) {
			t.Fatalf("the error is %v", err)
		}
		if diff := cmp.Diff(want, reports(e.Violations)); diff != "" {
			t.Error(diff)
		}
	}
}
