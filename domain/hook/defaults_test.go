package hook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
)

// evaluate gives nil for no expression.
func evaluate(t *testing.T, source string, payload json.RawMessage) any {
	t.Helper()
	if source == "" {
		return nil
	}
	program, err := language.Compile(source, "payload")
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	value, err := program.Evaluate(run.Env{Values: map[string]any{"payload": tree}, Now: noon})
	if err != nil {
		t.Errorf("%s: %v", source, err)
	}
	return value
}

// found are event, entity and dedupe key of each run of a delivery.
func found(t *testing.T, d hook.Defaults, p hook.Payload) (all []string) {
	t.Helper()
	items := []hook.Payload{p}
	if list, ok := evaluate(t, d.Split, p.JSON()).([]any); ok {
		items = nil
		for i, item := range list {
			text, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, p.Item(i, text))
		}
	}
	for _, item := range items {
		dedupe := evaluate(t, d.Dedupe, item.JSON())
		if d.ItemsHash {
			dedupe = "#"
		}
		all = append(all, fmt.Sprintf("%v | %v | %v", evaluate(t, d.Event, item.JSON()), evaluate(t, d.Entity, item.JSON()), dedupe))
	}
	return all
}

func TestWhatPresetsReadInADelivery(t *testing.T) {
	want := map[string][]string{
		"github":           {"issues | octocat/Hello-World | github-7"},
		"gitlab token":     {"Push Hook | mike/diaspora | gitlab token-7"},
		"gitlab signing":   {"Push Hook | mike/diaspora | gitlab signing-7"},
		"standard":         {"invoice.paid | <nil> | msg_"},
		"standard ed25519": {"invoice.paid | <nil> | msg_"},
		"svix":             {"user.created | <nil> | msg_"},
		"linear":           {"Issue | 2174add1-f7c8-44e3-bbf3-2d60b5ea8bc7 | linear-7"},
		"discord":          {"APPLICATION_AUTHORIZED | <nil> | <nil>"},
		"slack":            {"app_mention | <nil> | Ev7"},
		"dropbox":          {"<nil> | <nil> | <nil>"},
		"microsoft-graph":  {"created | users/7/messages | lsgTZMr9KwAAA-7-1", "created | users/7/messages | lsgTZMr9KwAAA-7-2"},
		"stripe":           {"invoice.paid | in_1 | evt_7"},
		"paddle":           {"transaction.completed | txn_01 | evt_7"},
		"shopify":          {"orders/create | gid://shopify/Order/820982911946154508 | shopify-7"},
		"square":           {"payment.updated | hYy9pRFVxpDsO1FB05SunFWUe9JZY | evt-7"},
		"zendesk":          {"zen:event-type:ticket.created | 7 | zendesk-7"},
		"hubspot":          {"contact.creation | 123 | 171", "contact.creation | 123 | 172"},
		"meta":             {"feed | 7 | #", "photos | 7 | #"},
		"twilio form":      {"<nil> | SM00000000000000000000000000000007 | twilio form-7"},
		"twilio JSON":      {"onMessageAdded | IM7 | twilio JSON-7"},
	}
	for _, s := range sender.All() {
		preset := presetOf(t, s)
		p, err := preset.Payload([]hook.Secret{secretOf(t, s)}, requestOf(t, s.Deliver(address, 7, noon)), hook.PayloadOptions{})
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		got := found(t, preset.Defaults(), p)
		for i := range got {
			if len(got) == 1 && len(want[s.Name]) == 1 && s.Preset == "standard" {
				got[i] = got[i][:len(want[s.Name][i])] // the rest of the id is a hash
			}
		}
		if diff := cmp.Diff(want[s.Name], got); diff != "" || len(got) != s.Runs {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
}

// What a preset reads must not fail on a delivery of another form: a body that is text, a number or absent.
func TestWhatPresetsReadIsAbsentInOtherBodies(t *testing.T) {
	for _, name := range hook.Presets() {
		d := scheme(t, `{"preset":"`+string(name)+`"}`).Defaults()
		for _, body := range []string{`null`, `"text"`, `7`, `true`, `[]`, `[null]`, `{}`, `{"data":7,"event":"e","entry":null,"value":"v","changes":[],"detail":[]}`} {
			p := hook.Payload{Method: "POST", Headers: map[string]string{}, Body: json.RawMessage(body)}
			for _, source := range []string{d.Event, d.Entity, d.Dedupe, d.Split} {
				evaluate(t, source, p.JSON())
			}
		}
	}
}
