package main

import (
	"bytes"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestTheProgramFindsAServerThatIsGoneAfterwards(t *testing.T) {
	t.Setenv(pgtest.AddressVariable, "")
	var out bytes.Buffer
	code, err := run(t.Context(), []string{"sh", "-c", `echo "$TEST_DATABASE_URL"; exit 7`}, &out, os.Stderr)
	if code != 7 || err != nil {
		t.Errorf("exit code %d, %v; want the program's, 7", code, err)
	}
	u, err := url.Parse(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	socket := u.Query().Get("host")
	if socket == "" {
		t.Fatalf("the program was given %q", out.String())
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the server's folder is still there: %v", err)
	}
}

func TestAServerThatIsNamedAlreadyIsUsed(t *testing.T) {
	const named = "postgres://somebody@elsewhere/postgres"
	t.Setenv(pgtest.AddressVariable, named)
	var out bytes.Buffer
	code, err := run(t.Context(), []string{"sh", "-c", `echo "$TEST_DATABASE_URL"`}, &out, os.Stderr)
	if got := strings.TrimSpace(out.String()); code != 0 || err != nil || got != named {
		t.Errorf("exit code %d, %v; the program was given %q", code, err, got)
	}
}

func TestWhatCannotRunIsSaid(t *testing.T) {
	t.Setenv(pgtest.AddressVariable, "postgres://somebody@elsewhere/postgres")
	for claim, c := range map[string]struct {
		args []string
		code int
	}{
		"no program":         {nil, exitUsage},
		"an unknown program": {[]string{"/no/such/program"}, exitFailed},
	} {
		if code, err := run(t.Context(), c.args, os.Stdout, os.Stderr); code != c.code || err == nil {
			t.Errorf("%s: exit code %d, want %d; %v", claim, code, c.code, err)
		}
	}
}
