package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Options say what kind of server is wanted.
type Options struct {
	// Durable keeps fsync on, as a server in production does. Benchmarks need it.
	Durable bool
}

// dirPrefix begins the names of the servers' folders; the process id follows. The
// folder holds the socket, whose path must stay below 108 bytes.
const dirPrefix = "sluice-pg-"

const startTimeout = 60 * time.Second

// superuser is the role that initdb makes.
const superuser = "sluice"

// Launch starts a server of its own that listens on a socket only, and returns the
// URL of its maintenance database and a function that stops it. The server ends with
// this process in any case where the system can see to that.
func Launch(ctx context.Context, opts Options) (address string, stop func(), err error) {
	bin, err := binaries(ctx)
	if err != nil {
		return "", nil, err
	}
	removeStale()
	dir, err := os.MkdirTemp("", dirPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) } // a folder that stays is removed by the next start
	owner, err := unprivileged()
	if err == nil && owner != nil {
		err = os.Chown(dir, int(owner.Uid), int(owner.Gid))
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", superuser, "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, attributes(owner)
	if out, err := initdb.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server, err := run(filepath.Join(bin, "postgres"), dir, data, opts, owner)
	if err != nil {
		remove()
		return "", nil, err
	}
	stop = func() {
		server.stop()
		remove()
	}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()}
	if err := await(ctx, u.String(), server); err != nil {
		stop()
		return "", nil, err
	}
	return u.String(), stop, nil
}

// process is a server that runs.
type process struct {
	cmd   *exec.Cmd
	log   *bytes.Buffer
	ended chan struct{}
}

// run starts the server from a thread that lives as long as it: the signal at the
// parent's death is sent when the thread ends that started the child.
func run(postgres, dir, data string, opts Options, owner *syscall.Credential) (*process, error) {
	durable := "off"
	if opts.Durable {
		durable = "on"
	}
	p := &process{log: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd = exec.Command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=300", //nolint:noctx // stopped by a signal, not by a context
		"-c", "fsync="+durable, "-c", "full_page_writes="+durable, "-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB")
	p.cmd.Dir, p.cmd.SysProcAttr, p.cmd.Stdout, p.cmd.Stderr = dir, attributes(owner), p.log, p.log
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in its log
			close(p.ended)
		}
	}()
	return p, <-started
}

// stop asks for a fast shutdown and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended already
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// await waits until the server answers.
func await(ctx context.Context, address string, p *process) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is pending
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the PostgreSQL server did not start:\n%s", p.log)
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unprivileged returns whom to run the server as: nobody else, unless this process
// is root, as which PostgreSQL refuses to run.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody")
}

// removeStale removes the folders of processes that ended without doing so.
func removeStale() {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(text)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // somebody else may be removing it
		}
	}
}
