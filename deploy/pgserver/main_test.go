package main

import (
	"bytes"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

func TestTheProgramFindsAServerThatIsGoneAfterwards(t *testing.T) {
	t.Setenv(pgtest.AddressVariable, "")
	var out bytes.Buffer
	code, err := harness.RunWith(t.Context(), []string{"sh", "-c", `echo "$TEST_DATABASE_URL"; exit 7`}, &out, os.Stderr, start)
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
	code, err := harness.RunWith(t.Context(), []string{"sh", "-c", `echo "$TEST_DATABASE_URL"`}, &out, os.Stderr, start)
	if got := strings.TrimSpace(out.String()); code != 0 || err != nil || got != named {
		t.Errorf("exit code %d, %v; the program was given %q", code, err, got)
	}
}
