package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// Options say what kind of server is wanted. The zero value is a fast server that a
// power failure may ruin.
type Options struct {
	// Durable keeps fsync and full_page_writes on, as a server in production does.
	// Benchmarks need it.
	Durable bool

	// Data is the folder that is to hold the cluster. It must not exist, and every
	// account must be able to pass through those above it. The default is below the
	// system's folder for temporary files.
	Data string

	// InMemory keeps a cluster without Data in memory where the system has a file system
	// for that, with room. A test that has a database to itself makes and removes hundreds
	// of files, among which others search when they make theirs (ext4 takes none of the
	// last seconds), so that most of the time would go there. It is for little data.
	InMemory bool

	// Programs are needed besides initdb and postgres, in the same folder: pgbench, say.
	Programs []string

	// Settings are further parameters of the server, as name=value.
	Settings []string
}

// Instance is a server that runs. It ends with this process in any case where the
// system can see to that.
type Instance struct {
	URL      string // of its maintenance database, as its superuser
	Programs string // the folder of its programs

	dirs    []string // to remove at the end
	process *testserver.Process
	again   func() (*testserver.Process, error) // starts the server on the same cluster once more
}

// dirPrefix begins the names of the servers' folders; the process id follows.
const dirPrefix = "sluice-pg-"

// socket is the name of the server's socket in its folder.
const socket = ".s.PGSQL.5432"

// superuser is the role that initdb makes.
const superuser = "sluice"

// Launch starts a server of its own that listens on a Unix socket only. Everybody
// who can reach the socket's folder, which is this account alone, is let in.
func Launch(ctx context.Context, opts Options) (_ *Instance, err error) {
	bin, err := programs(ctx, append([]string{"initdb", "postgres"}, opts.Programs...))
	if err != nil {
		return nil, err
	}
	removeStale()
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	in := &Instance{Programs: bin}
	defer func() {
		if err != nil {
			in.Stop()
		}
	}()
	home, data, err := in.folders(opts, owner)
	if err != nil {
		return nil, err
	}
	if err := initialize(ctx, filepath.Join(bin, "initdb"), home, data, opts, owner); err != nil {
		return nil, err
	}
	in.again = func() (*testserver.Process, error) {
		return start(filepath.Join(bin, "postgres"), home, data, opts, owner)
	}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: url.Values{"host": {home}, "sslmode": {"disable"}}.Encode()}
	in.URL = u.String()
	return in, in.run(ctx)
}

// run starts the server and waits until it answers.
func (in *Instance) run(ctx context.Context) (err error) {
	if in.process, err = in.again(); err != nil {
		return err
	}
	return await(ctx, in.process, in.URL)
}

// folders makes the folders of the server, whose owner they belong to: its home, with the
// socket, and that of the cluster.
func (in *Instance) folders(opts Options, owner *syscall.Credential) (home, data string, err error) {
	if home, err = in.folder(testserver.SocketRoot(dirPrefix, socket)); err != nil {
		return "", "", err
	}
	data = opts.Data
	if data == "" {
		above := home
		if root := memoryRoot(); opts.InMemory && root != "" {
			if above, err = in.folder(root); err != nil {
				return "", "", err
			}
		}
		data = filepath.Join(above, "data")
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", "", err
	}
	in.dirs = append(in.dirs, data)
	if owner != nil {
		for _, dir := range in.dirs {
			if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
				return "", "", err
			}
		}
	}
	return home, data, nil
}

// folder makes a folder that is removed at the end, or by the next start.
func (in *Instance) folder(root string) (string, error) {
	dir, err := testserver.Folder(root, dirPrefix)
	if err == nil {
		in.dirs = append(in.dirs, dir)
	}
	return dir, err
}

// Stop ends the server and removes what it kept.
func (in *Instance) Stop() {
	if in.process != nil {
		in.process.End(os.Interrupt, stopTimeout)
	}
	for _, dir := range in.dirs {
		_ = os.RemoveAll(dir) // a folder that stays is removed by the next start
	}
}

func initialize(ctx context.Context, initdb, home, data string, opts Options, owner *syscall.Credential) error {
	args := []string{"-D", data, "-U", superuser, "--auth=trust", "-E", "UTF8", "--locale=C"}
	if !opts.Durable {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, initdb, args...)
	cmd.Dir, cmd.SysProcAttr = home, &syscall.SysProcAttr{Credential: owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
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

// removeStale removes the folders of processes that ended without doing so. Where a
// server outlived its process it ends within a minute, for it watches its folder.
func removeStale() {
	for _, root := range []string{testserver.SocketRoot(dirPrefix, socket), sharedMemory} {
		if root != "" {
			testserver.RemoveStale(root, dirPrefix, func(string) {})
		}
	}
}
