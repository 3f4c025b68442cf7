package contract

import (
	"net/http"
	"strings"
	"testing"
)

func TestAGoldenFileThatCannotBeReadSaysWhy(t *testing.T) {
	silent := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for text, want := range map[string]string{
		"GET":                           `exchange 1: "GET" is not a method and a path`,
		"GET x":                         `exchange 1: "GET x" is not a method and a path`,
		"GET /\n----\n\n====\nGET /\nx": `exchange 2: "x" is not a header`,
		"GET /\nX-API-Key: {{key}}":     `exchange 1: nothing stands for "{{key}}"`,
		"GET /%zz":                      `exchange 1: parse`,
	} {
		if _, err := play(silent, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}

func TestAGoldenFileNotesEveryDifference(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	text := "GET /\n----\n200 OK\n"
	got, err := play(handler, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET /\n----\n418 I'm a teapot\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
