package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq" // the driver
)

// postgresSettings keep every guarantee of a database in production; they only put
// off checkpoints, which would otherwise fall on one side of a round at random.
var postgresSettings = []string{
	"listen_addresses=", "fsync=on", "synchronous_commit=on", "full_page_writes=on",
	"shared_buffers=256MB", "max_wal_size=8GB", "checkpoint_timeout=1h", "logging_collector=off",
}

// Bounds of starting and stopping the server.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
)

// postgresServer is a PostgreSQL of the bench's own, reached through a Unix socket.
type postgresServer struct {
	bin, socket string // directories
	cmd         *exec.Cmd
	ended       chan error
	db          *sql.DB
}

// startPostgres makes a new cluster below dir and starts a server on it.
func startPostgres(ctx context.Context, dir string) (*postgresServer, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	as, err := humbleUser()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "pg")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	if err := as.own(home); err != nil {
		return nil, err
	}
	data := filepath.Join(home, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres",
		"--auth=trust", "--encoding=UTF8", "--locale=C") // trust: only this user reaches the socket's directory
	initdb.Dir = home
	as.as(initdb)
	if _, err := output(initdb); err != nil {
		return nil, err
	}
	p := &postgresServer{bin: bin, socket: home, ended: make(chan error, 1)}
	args := []string{"-D", data, "-k", home}
	for _, s := range postgresSettings {
		args = append(args, "-c", s)
	}
	p.cmd = exec.Command(filepath.Join(bin, "postgres"), args...) //nolint:noctx // stopped by stop, not by a signal to the bench
	p.cmd.Dir = home
	as.as(p.cmd)
	bound(p.cmd)
	log, err := os.Create(filepath.Join(dir, "postgres.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server has its own handle
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	if err := p.awaitReady(ctx); err != nil {
		p.stop()
		text, _ := os.ReadFile(log.Name()) // the error stands without it
		return nil, fmt.Errorf("start PostgreSQL: %w\n%s", err, text)
	}
	return p, nil
}

// postgresPrograms finds the directory of PostgreSQL's programs.
func postgresPrograms() (string, error) {
	needed := []string{"initdb", "postgres", "pgbench"}
	var tried []string
	if bin := os.Getenv("PG_BIN"); bin != "" {
		tried = append(tried, bin)
	}
	if found, err := exec.LookPath("postgres"); err == nil {
		tried = append(tried, filepath.Dir(found))
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.Reverse(installed) // the newest first
	tried = append(tried, installed...)
	for _, bin := range tried {
		if !slices.ContainsFunc(needed, func(name string) bool { _, err := os.Stat(filepath.Join(bin, name)); return err != nil }) {
			return bin, nil
		}
	}
	return "", fmt.Errorf("no directory holds %s (looked in $PG_BIN, PATH, /usr/lib/postgresql/*/bin); "+
		"install PostgreSQL (on Debian: apt-get install postgresql) or set PG_BIN", strings.Join(needed, ", "))
}

// url is the address for the gateway and for this program.
func (p *postgresServer) url() string {
	q := url.Values{"host": {p.socket}, "sslmode": {"disable"}}
	return "postgres://postgres@/postgres?" + q.Encode()
}

func (p *postgresServer) awaitReady(ctx context.Context) error {
	var err error
	if p.db, err = sql.Open("postgres", p.url()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if err = p.db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case ended := <-p.ended:
			p.ended <- ended
			return errors.Join(errors.New("the server ended"), ended)
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *postgresServer) version(ctx context.Context) (version string, err error) {
	err = p.db.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
	return version, err
}

// count returns how many rows a table holds.
func (p *postgresServer) count(ctx context.Context, table string) (n int, err error) {
	err = p.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// stop ends the server. What it kept is thrown away, so that a failure to end
// cleanly is of no interest.
func (p *postgresServer) stop() {
	if p.db != nil {
		_ = p.db.Close()
	}
	endProcess(p.cmd, p.ended, syscall.SIGINT) // "fast shutdown"
}

// endProcess asks a program to end, waits, and kills it when it does not.
func endProcess(cmd *exec.Cmd, ended chan error, sig os.Signal) {
	_ = cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-ended: //nolint:errcheck // how it ended is in its log
	case <-time.After(stopTimeout):
		_ = cmd.Process.Kill()
		<-ended //nolint:errcheck // it was killed
	}
}
