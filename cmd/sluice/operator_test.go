package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// operatorToken is the operator's in the tests of this package. It holds what a log
// escapes.
const operatorToken = `operator"of\the<tests>_7f3a91c4d2e8`

// operate makes a request of the operator; headers are pairs of name and value.
func (s server) operate(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+operatorToken)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestTheOperatorsDayOverHTTP(t *testing.T) {
	skipUnderRace(t)
	databases(t, func(t *testing.T, b binary) {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(operatorToken+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.environ = append(b.environ, "SLUICE_OPERATOR_TOKEN_FILE="+file, "SLUICE_LOG_LEVEL=trace")
		s := b.start("serve")
		want := func(step string, want, got int, body string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %d, not %d: %s", step, got, want, body)
			}
		}
		const tenants = "/v1/operator/tenants"
		status, body := s.operate(t, http.MethodPost, tenants, `{"name":"Acme","metadata":{"crm":"<42>"}}`, "X-Idempotency-Key", "customer-42")
		want("creating a tenant", http.StatusCreated, status, body)
		var made struct{ ID, SecretKey string }
		if err := json.Unmarshal([]byte(body), &made); err != nil {
			t.Fatal(err)
		}
		one := tenants + "/" + made.ID
		works := func(step string, code int) {
			t.Helper()
			status, body := s.request(t, http.MethodGet, "/v1/gateway/settings", made.SecretKey, "")
			want(step, code, status, body)
		}
		works("its key", http.StatusOK)
		shown := b.json("tenant", "show", made.ID)
		if shown["name"] != "Acme" || shown["status"] != "active" || fmt.Sprint(shown["metadata"]) != "map[crm:<42>]" {
			t.Errorf("the command line shows %v", shown)
		}
		status, body = s.operate(t, http.MethodPost, one+"/suspend", "")
		want("suspending", http.StatusOK, status, body)
		works("a suspended tenant's key", http.StatusUnauthorized)
		b.ok("tenant", "resume", made.ID)
		status, body = s.operate(t, http.MethodGet, tenants+"?status=active&search=acme", "")
		want("listing", http.StatusOK, status, body)
		if !strings.Contains(body, `"total":1`) {
			t.Errorf("the list is %s", body)
		}
		status, body = s.operate(t, http.MethodDelete, one, "")
		want("deleting", http.StatusNoContent, status, body)
		works("a deleted tenant's key", http.StatusUnauthorized)

		// The token in places where it does not belong.
		status, body = s.operate(t, http.MethodGet, "/nothing/"+url.PathEscape(operatorToken), "", "X-Request-Id", operatorToken)
		want("an unknown path", http.StatusNotFound, status, body)
		status, body = s.request(t, http.MethodGet, tenants+"/"+url.PathEscape(operatorToken), operatorToken, "")
		want("the token as a key", http.StatusUnauthorized, status, body)
		s.stop()
		log := s.stderr.String()
		if !strings.Contains(log, `"path":"/nothing/…"`) || !strings.Contains(log, fmt.Sprintf(`"route":"/v1/operator/tenants/:id/suspend","tenantId":%q,"operator":"operator","status":200`, made.ID)) {
			t.Errorf("the log says %s", log)
		}
		for line := range strings.Lines(log) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if strings.Contains(fmt.Sprint(fields), operatorToken) {
				t.Errorf("the token is in the log: %s", line)
			}
		}
	})
}

func TestTheOperatorsTokenHasToBeOutOfReach(t *testing.T) {
	skipUnderRace(t)
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	long := strings.Repeat("k", 32)
	for claim, c := range map[string]struct {
		environ []string
		mistake string // empty for none
	}{
		"none":                           {nil, ""},
		"32 characters":                  {[]string{"SLUICE_OPERATOR_TOKEN=" + long}, ""},
		"1024 characters":                {[]string{"SLUICE_OPERATOR_TOKEN=" + strings.Repeat("k", 1024)}, ""},
		"in a file, with the line's end": {[]string{"SLUICE_OPERATOR_TOKEN_FILE=" + write(long+"\r\n")}, ""},
		"31 characters":                  {[]string{"SLUICE_OPERATOR_TOKEN=" + long[1:]}, "SLUICE_OPERATOR_TOKEN must be 32 to 1024 printable"},
		"1025 characters":                {[]string{"SLUICE_OPERATOR_TOKEN=" + strings.Repeat("k", 1025)}, "SLUICE_OPERATOR_TOKEN must be"},
		"a space":                        {[]string{"SLUICE_OPERATOR_TOKEN=" + long + " " + long}, "SLUICE_OPERATOR_TOKEN must be"},
		"a letter that is not ASCII":     {[]string{"SLUICE_OPERATOR_TOKEN=" + long + "é"}, "SLUICE_OPERATOR_TOKEN must be"},
		"a control character":            {[]string{"SLUICE_OPERATOR_TOKEN=" + long + "\x7f"}, "SLUICE_OPERATOR_TOKEN must be"},
		"too short in a file":            {[]string{"SLUICE_OPERATOR_TOKEN_FILE=" + write("hunter2")}, "SLUICE_OPERATOR_TOKEN must be"},
		"two lines in a file":            {[]string{"SLUICE_OPERATOR_TOKEN_FILE=" + write(long+"\n"+long)}, "SLUICE_OPERATOR_TOKEN must be"},
		"an empty file":                  {[]string{"SLUICE_OPERATOR_TOKEN_FILE=" + write("\n")}, "SLUICE_OPERATOR_TOKEN_FILE names a file that is empty"},
		"no such file":                   {[]string{"SLUICE_OPERATOR_TOKEN_FILE=" + filepath.Join(t.TempDir(), "missing")}, "SLUICE_OPERATOR_TOKEN_FILE names a file that cannot be read"},
		"both": {[]string{"SLUICE_OPERATOR_TOKEN=" + long, "SLUICE_OPERATOR_TOKEN_FILE=" + write(strings.Repeat("l", 32))},
			"SLUICE_OPERATOR_TOKEN and SLUICE_OPERATOR_TOKEN_FILE are both set"},
	} {
		cfg, err := readConfig(append(c.environ, "SLUICE_LISTEN=:8080"))
		switch {
		case c.mistake == "":
			if given := len(c.environ) > 0; err != nil || given != (cfg.OperatorToken != "") || strings.TrimSpace(cfg.OperatorToken) != cfg.OperatorToken {
				t.Errorf("%s: %v", claim, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.mistake) || strings.Count(err.Error(), "OPERATOR_TOKEN") != strings.Count(c.mistake, "OPERATOR_TOKEN"):
			t.Errorf("%s: %v", claim, err)
		case strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), long[1:]):
			t.Errorf("%s shows it: %v", claim, err)
		}
	}
}

func TestHelpExplainsTheOperatorsTokenAndDoesNotShowIt(t *testing.T) {
	skipUnderRace(t)
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_OPERATOR_TOKEN="+operatorToken)
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"serve", "--nonsense"}} {
		_, stdout, stderr := b.run(args...)
		if strings.Contains(stdout+stderr, operatorToken) || args[0] == "--help" && !strings.Contains(stdout, "SLUICE_OPERATOR_TOKEN_FILE") {
			t.Errorf("%v: %s%s", args, stdout, stderr)
		}
	}
}
