package pgtest

import (
	"cmp"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// databases lists those of a server that somebody made.
func databases(t *testing.T, s *Server) (names []string) {
	t.Helper()
	db, err := sql.Open("postgres", s.address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), `SELECT array_agg(datname::text) FROM pg_database WHERE NOT datistemplate`).Scan(pq.Array(&names)); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestAServerOfSomebodyElseKeepsNoTemplate(t *testing.T) {
	instance, err := Launch(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	server, err := connect(t.Context(), instance.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a test", func(t *testing.T) { server.Migrated(t, func(string) error { return nil }) })
	if got := databases(t, server); len(got) != 2 { // the template and postgres
		t.Fatalf("the server holds %v", got)
	}
	if err := server.close(); err != nil {
		t.Fatal(err)
	}
	if got := databases(t, server); len(got) != 1 || got[0] != "postgres" {
		t.Errorf("the server holds %v after the tests", got)
	}
}

func TestTheClusterIsInMemoryWhereThereIsRoom(t *testing.T) {
	root := cmp.Or(memoryRoot(), testserver.SocketRoot(dirPrefix, socket))
	instance, err := Launch(t.Context(), Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	server, err := connect(t.Context(), instance.URL)
	if err != nil {
		t.Fatal(err)
	}
	var data string
	err = server.db.QueryRowContext(t.Context(), `SHOW data_directory`).Scan(&data)
	if err != nil || filepath.Dir(filepath.Dir(data)) != root {
		t.Errorf("the cluster is in %s, not in a folder of %s: %v", data, root, err)
	}
	instance.Stop()
	if _, err := os.Stat(filepath.Dir(data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was left: %v", err)
	}
}

func TestAnAddressThatIsNoURLIsRefused(t *testing.T) {
	const want = "TEST_DATABASE_URL must be a URL like postgres://user:password@host:port/postgres"
	for _, address := range []string{"host=/tmp dbname=postgres", "localhost:5432", "mysql://localhost/x", "postgres://%zz"} {
		if _, err := connect(t.Context(), address); err == nil || err.Error() != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestTheNewestVersionIsTaken(t *testing.T) {
	for dir, want := range map[string]int{
		"/usr/lib/postgresql/9/bin": 9, "/usr/lib/postgresql/15/bin": 15, "/opt/homebrew/opt/postgresql@16/bin": 16,
		"/opt/homebrew/opt/postgresql/bin": 0, "/x/native/bin": 0,
	} {
		if got := versionIn(dir); got != want {
			t.Errorf("%s: %d, want %d", dir, got, want)
		}
	}
}
