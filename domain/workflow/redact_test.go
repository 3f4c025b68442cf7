package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// shownConfig is the configuration of a node as somebody sees it who may only read its version.
func shownConfig(t *testing.T, config string) string {
	t.Helper()
	v := workflow.RestoreVersion(workflow.VersionState{ID: "ver_1", Revision: 3, Graph: workflow.RestoreGraph([]workflow.Node{
		{ID: "a", Config: domain.RestoreDocument(`{"url":"https://example.com"}`)}, {ID: "b", Config: domain.RestoreDocument(config)},
	}, []workflow.Edge{{ID: "e", SourceNodeID: "a", TargetNodeID: "b"}})})
	shown := v.WithoutSecrets()
	if got := v.Graph().Nodes()[1].Config.String(); got != config {
		t.Fatalf("the version itself has changed to %s", got)
	}
	if shown.Revision() != 3 || shown.Graph().Nodes()[0].Config.String() != `{"url":"https://example.com"}` || len(shown.Graph().Edges()) != 1 {
		t.Errorf("something else has changed: %+v", shown.State())
	}
	return shown.Graph().Nodes()[1].Config.String()
}

func TestWhoMayOnlyReadAVersionSeesNoSecretsOfItsNodes(t *testing.T) {
	const key = "sk_live_0123456789abcdefXYZ"
	for config, want := range map[string]string{
		`{"headers":{"Authorization":"abc"}}`:                                     `{"headers":{"Authorization":"[redacted]"}}`,
		`{"headers":{"x-api-key":"a","X-Trace":"a"}}`:                             `{"headers":{"x-api-key":"[redacted]","X-Trace":"a"}}`,
		`{"headers":{"Authorization":"Bearer {{payload.token}}"}}`:                `{"headers":{"Authorization":"Bearer {{payload.token}}"}}`,
		`{"headers":{"Authorization":"Bearer {{payload.a}} Bearer ` + key + `"}}`: `{"headers":{"Authorization":"Bearer {{payload.a}} [redacted]"}}`,
		`{"headers":{"Authorization":["a","b"],"Accept":"c"}}`:                    `{"headers":{"Authorization":["[redacted]","[redacted]"],"Accept":"c"}}`,
		`{"password":{"a":"b"},"list":["c",{"secret":"d"},"e"]}`:                  `{"password":{"a":"b"},"list":["c",{"secret":"[redacted]"},"e"]}`,
		`{"a":"uses ` + key + ` twice: ` + key + `."}`:                            `{"a":"uses [redacted] twice: [redacted]."}`,
		`{"source":"const a = 1\nconst key = \"` + key + `\"\nreturn a"}`:         `{"source":"const a = 1\nconst key = \"[redacted]\"\nreturn a"}`,
		`{ "n": 12345678901234567890.10, "passw\u006frd" : "a\"b", "z": [ ] }`:    `{ "n": 12345678901234567890.10, "passw\u006frd" : "[redacted]", "z": [ ] }`,
		`{"a":"\u0073k_live_0123456789abcdefXYZ"}`:                                `{"a":"[redacted]"}`,
		`{"password":"","token":true,"secret":null}`:                              `{"password":"","token":true,"secret":null}`,
		`{"a":"-----BEGIN EC PRIVATE KEY-----\nMHQCAQEEII"}`:                      `{"a":"[redacted]"}`,
		`{}`: `{}`,
	} {
		if got := shownConfig(t, config); got != want {
			t.Errorf("%s\nis shown as %s\nnot           %s", config, got, want)
		}
	}
}

func FuzzASecretIsHiddenAndNothingElse(f *testing.F) {
	for _, text := range []string{"", "a", `"`, `\`, "\u2028", "{}[]:,", "ghp_0123456789abcdefghijklmnopqrstuv"} {
		f.Add(text, text)
	}
	const secret = "xoxb-0123456789-abc"
	f.Fuzz(func(t *testing.T, name, text string) {
		if strings.Contains(text, "xox") {
			return
		}
		config, err := json.Marshal(map[string]any{name: []any{text, map[string]string{"b": text + " " + secret}}, "z": 1})
		if err != nil {
			t.Fatal(err)
		}
		shown := shownConfig(t, string(config))
		var before, after map[string]any
		if err := json.Unmarshal(config, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(shown), &after); err != nil {
			t.Fatalf("%s is shown as %s: %v", config, shown, err)
		}
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown as %s", config, shown)
		}
		if diff := cmp.Diff(before["z"], after["z"]); diff != "" && name != "z" || len(before) != len(after) {
			t.Errorf("%s is shown as %s", config, shown)
		}
	})
}
