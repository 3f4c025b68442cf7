package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestOneGatewayServesFromASQLiteFile(t *testing.T) {
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	first := b.spawn("serve")
	for _, command := range []string{"serve", "dev"} {
		code, _, stderr := b.run(command)
		want := "another gateway serves from the database already (process " + strconv.Itoa(first.cmd.Process.Pid) + "); stop that one first"
		if code != exitFailed || !strings.Contains(stderr, want) || strings.Contains(stderr, "brought the schema up to date") {
			t.Errorf("a second sluice %s ended with %d: %s", command, code, stderr)
		}
	}
	made := b.json("tenant", "create", "--name", "beside")
	b.ok("key", "list", "--tenant", made["tenantId"].(string))
	b.ok("migrate", "up")
	first.exit(t, syscall.SIGKILL)
	if code := b.start("serve").stop(); code != exitDone {
		t.Errorf("the gateway after one that was killed ended with %d", code)
	}
	if code := b.start("serve").stop(); code != exitDone {
		t.Errorf("the gateway after one that was stopped ended with %d", code)
	}
}
