package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// terminal is one whose screen can be read.
func terminal(t *testing.T) (tty *os.File, screen func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	reader := bufio.NewReader(master)
	return tty, func() string {
		// One read may return a part of what was written, so it reads up to a mark.
		const mark = '\x00'
		if _, err := tty.Write([]byte{mark}); err != nil {
			t.Fatal(err)
		}
		text, err := reader.ReadString(mark)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(text, string(mark))
	}
}

// longChain has more entries than are read at a time, and is interrupted after the first.
type longChain struct{ inbound.AuditChains }

func (longChain) Verify(_ context.Context, owner tenant.ID, _ *audit.Known, progress func(int64)) (*audit.Verifier, error) {
	if progress(200); owner == "tenant_2" {
		return nil, context.Canceled
	}
	return audit.NewVerifier(audit.Head{}, nil), nil
}

func (longChain) Heads(_ context.Context, take func(audit.Head) error) error {
	for _, owner := range []tenant.ID{"tenant_1", "tenant_2"} {
		if err := take(audit.Head{Tenant: owner}); err != nil {
			return err
		}
	}
	return context.Canceled
}

func TestLongCommandsShowTheirProgressOnATerminal(t *testing.T) {
	t.Parallel()
	tty, screen := terminal(t)
	var out bytes.Buffer
	p := &program{stdout: &out, stderr: tty}
	if err := p.verifyChains(t.Context(), longChain{}, "", nil, time.Now()); err == nil || !strings.Contains(out.String(), "tenant_1 is whole") {
		t.Error("what was verified before the interruption is lost", err, out.String())
	}
	if got := screen(); !strings.Contains(got, "tenant_1: 200 entries") || !strings.Contains(got, "tenant_2: 200 entries") {
		t.Errorf("verify shows %q", got)
	}
	p.environ = []string{"SLUICE_DATABASE_URL=" + sqliteURL(t)}
	cmd := p.migrateUp()
	cmd.SetContext(t.Context())
	if err := cmd.RunE(cmd, nil); err != nil {
		t.Fatal(err)
	}
	if got := screen(); !strings.HasPrefix(got, "applying ") || !strings.Contains(got, " migrations, from 000") {
		t.Errorf("migrate shows %q", got)
	}
	p.showEntries("tenant_1", tty)(7) // the entries themselves go there
	p.showRotation()(inbound.RotationProgress{Done: 3, Total: 5, Resumed: true})
	if got := screen(); strings.Contains(got, "7 entries") || !strings.Contains(got, "Going on with a rotation") || !strings.Contains(got, "3 of about 5 secrets") {
		t.Errorf("rotate shows %q", got)
	}
	for _, quiet := range []*program{{stderr: tty, json: true}, {stderr: &out}} {
		quiet.showEntries("tenant_1", nil)(7)
		quiet.showRotation()(inbound.RotationProgress{Done: 3})
	}
	_, _ = fmt.Fprint(tty, "end")
	if got := screen(); got != "end" {
		t.Errorf("scripts get %q", got)
	}
}
