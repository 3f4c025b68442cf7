package pgtest_test

import (
	"bufio"
	"database/sql"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestAKilledProcessTakesItsServerWithItAndTheNextOneClearsUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env, child.Stderr = append(os.Environ(), launcherVariable+"=yes"), os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child did not launch a server: %v", err)
	}
	db, err := sql.Open("postgres", strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	began := time.Now()
	if _, err := conn.ExecContext(t.Context(), "SELECT pg_sleep(30)"); err == nil {
		t.Errorf("the server still answers %v after its process was killed", time.Since(began).Round(time.Second))
	}
	if left := folders(t, child.Process.Pid); len(left) == 0 {
		t.Error("the killed process left no folder")
	}
	launch(t, pgtest.Options{})
	if left := folders(t, child.Process.Pid); len(left) != 0 {
		t.Errorf("the next start left %v", left)
	}
}
