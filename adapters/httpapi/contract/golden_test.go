package contract_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/contract"
)

// echo answers with what it was asked.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	sent, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Request-Id", "req_42")
	if len(sent) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "7")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"key":%q,"at":"12:34","z":1.50,"sent":%s}`, r.Header.Get("X-API-Key"), sent)
})

func replacements() []contract.Replacement {
	return []contract.Replacement{contract.Value("secretKey", "sk_7"), contract.Mask("time", `\d\d:\d\d`)}
}

func TestAGoldenFileIsWhatTheHandlerAnswers(t *testing.T) {
	contract.Golden(t, echo, "testdata/echo.http", false, replacements()...)
}

func TestUpdateWritesTheAnswersAndKeepsTheRequests(t *testing.T) {
	want, err := os.ReadFile("testdata/echo.http")
	if err != nil {
		t.Fatal(err)
	}
	asked := "# Sent once.\nPOST /echo?x=1\nX-API-Key: {{secretKey}}\n\n{\"b\": 2,\n\n \"a\": []}\n====\nDELETE /echo\n----\nold\n"
	file := filepath.Join(t.TempDir(), "echo.http")
	if err := os.WriteFile(file, []byte(asked), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time changes nothing
		contract.Golden(t, echo, file, true, replacements()...)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Error(diff)
		}
	}
}
