package redistest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/limiter/redis/redistest"
)

// launcherVariable makes this test binary launch a server and wait.
const launcherVariable = "REDISTEST_LAUNCHER"

func TestMain(m *testing.M) {
	if os.Getenv(launcherVariable) == "" {
		redistest.Main(m)
	}
	instance, err := redistest.Launch(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(instance.URL)
	select {}
}

// dial connects to a server on a Unix socket.
func dial(t *testing.T, address string) (net.Conn, error) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return net.Dial("unix", u.Path)
}

// ask sends one command and returns the answer's first line.
func ask(t *testing.T, address, command string) string {
	t.Helper()
	conn, err := dial(t, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// folders lists those of the servers that a process launched.
func folders(t *testing.T, pid int) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("sluice-redis-%d-*", pid)))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestTheTestsOfAProcessShareAServer(t *testing.T) {
	if a, b := redistest.Start(t), redistest.Start(t); a != b {
		t.Errorf("%s and %s", a, b)
	}
	if a, b := redistest.Prefix(), redistest.Prefix(); a == b {
		t.Errorf("both have the prefix %s", a)
	}
}

func TestAServerStartsAndStopsAtTheSameAddress(t *testing.T) {
	before := len(folders(t, os.Getpid()))
	instance, err := redistest.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	if got := ask(t, instance.URL, "SET a 1"); got != "+OK" {
		t.Errorf("SET answers %s", got)
	}
	instance.Kill()
	if _, err := dial(t, instance.URL); err == nil {
		t.Error("a killed server listens")
	}
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, instance.URL, "EXISTS a"); got != ":0" {
		t.Errorf("a restarted server is not empty: %s", got)
	}
	instance.Stop()
	if now := len(folders(t, os.Getpid())); now != before {
		t.Errorf("%d folders before, %d after", before, now)
	}
}

func TestAFrozenServerIsStopped(t *testing.T) {
	instance, err := redistest.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.Freeze(); err != nil {
		t.Fatal(err)
	}
	instance.Stop()
	if _, err := dial(t, instance.URL); err == nil {
		t.Error("the server still listens")
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	before := len(folders(t, os.Getpid()))
	_, err := redistest.Launch(t.Context(), "--no-such-setting", "1")
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("the error does not name the setting: %v", err)
	}
	if now := len(folders(t, os.Getpid())); now != before {
		t.Errorf("%d folders before, %d after", before, now)
	}
}

func TestAKilledProcessLeavesNoServerAndTheNextStartCleansUp(t *testing.T) {
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
	conn, err := dial(t, strings.TrimSpace(line))
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
	if left := folders(t, child.Process.Pid); len(left) != 1 {
		t.Errorf("the killed process left %v, want one folder", left)
	}
	next, err := redistest.Launch(t.Context()) // ends the server where the system did not
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Stop)
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("the server sent %d bytes after its process was killed", n)
	}
	if left := folders(t, child.Process.Pid); len(left) != 0 {
		t.Errorf("the next start left %v", left)
	}
}
