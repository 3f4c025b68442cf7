package connections_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/connections"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What a process of its own is told.
const (
	databaseVariable, keyVariable    = "CONNECTIONS_TEST_DATABASE", "CONNECTIONS_TEST_KEY"
	ownerVariable, connectionIDToUse = "CONNECTIONS_TEST_TENANT", "CONNECTIONS_TEST_CONNECTION"
)

// openSealed opens a database that is encrypted with a key.
func openSealed(ctx context.Context, address, key string) (*sqlstore.Store, error) {
	local, err := secrets.ParseKey(key)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, address, postgres.Options{MaxConnections: 2})
	if err != nil {
		return nil, err
	}
	store.Cipher = secrets.New(local)
	return store, nil
}

// migrateSealed prepares a database and makes its keyset.
func migrateSealed(address, key string) error {
	ctx := context.Background()
	store, err := openSealed(ctx, address, key)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // nothing is pending
	if _, err := store.Migrator().Up(ctx); err != nil {
		return err
	}
	local, err := secrets.ParseKey(key)
	if err != nil {
		return err
	}
	wrapped, err := secrets.New(local).Make(ctx)
	if err != nil {
		return err
	}
	return store.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Secrets.InsertKeyset(ctx, wrapped) })
}

// TestAProcessOfItsOwn is what the processes of the test below do: once told to, they get a token and say its
// digest.
func TestAProcessOfItsOwn(t *testing.T) {
	address := os.Getenv(databaseVariable)
	if address == "" {
		t.Skip("it is a process of another test")
	}
	store, err := openSealed(t.Context(), address, os.Getenv(keyVariable))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // nothing is pending
	var c *connection.Connection
	err = store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		c, err = st.Connections.Get(ctx, tenant.All(tenant.ID(os.Getenv(ownerVariable))), connection.ID(os.Getenv(connectionIDToUse)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s := connections.NewTokens(store, endpoint(t), system.Clock{}, system.Random{})
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed
	token, err := s.Token(t.Context(), c, connection.Text{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("token", connection.SecretDigest(token))
}

// process is one of them.
type process struct {
	cmd   *exec.Cmd
	begin io.Closer
	out   *bufio.Scanner
}

func startProcess(t *testing.T, env ...string) process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProcessOfItsOwn$")
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return process{cmd, in, bufio.NewScanner(out)}
}

// says reads until a line that begins with a word, and returns the rest of it.
func (p process) says(word string) (string, error) {
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), word); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", errors.Join(fmt.Errorf("it never says %q", word), p.out.Err(), p.cmd.Wait())
}

func TestThirtyProcessesOfTheirOwnRefreshOnce(t *testing.T) {
	key := secrets.GenerateKey()
	address := pgtest.Start(t).Database(t) // of its own: the other tests' template has another key
	if err := migrateSealed(address, key); err != nil {
		t.Fatal(err)
	}
	store, err := openSealed(t.Context(), address, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	e := newEnv(t, store)
	c := e.ofPerson()
	e.consent(c)
	e.age(c, time.Hour)
	all := make([]process, 30)
	for i := range all {
		all[i] = startProcess(t, databaseVariable+"="+address, keyVariable+"="+key, ownerVariable+"="+string(e.owner), connectionIDToUse+"="+string(c.ID()))
	}
	for _, p := range all {
		if _, err := p.says("ready"); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		if err := p.begin.Close(); err != nil {
			t.Fatal(err)
		}
	}
	digests := make(map[string]int)
	for _, p := range all {
		digest, err := p.says("token")
		if err != nil {
			t.Error(err)
			continue
		}
		digests[digest]++
		if err := p.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if len(digests) != 1 || e.server.Refreshes() != 1 || e.server.Reuses() != 0 {
		t.Errorf("%d tokens came of %d refreshes, %d of them with a token that was used", len(digests), e.server.Refreshes(), e.server.Reuses())
	}
	token := e.token(e.process(), c)
	if digests[connection.SecretDigest(token)] != len(all) || e.server.Call(t, token.Reveal()) != http.StatusOK {
		t.Error("it is not the token that is kept")
	}
}
