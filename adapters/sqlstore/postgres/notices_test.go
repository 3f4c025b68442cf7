package postgres_test

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestRead(t *testing.T) {
	portstest.Read(t, func(t *testing.T) outbound.UnitOfWork {
		store, _ := migrated(t)
		return store
	})
}

func TestChanges(t *testing.T) {
	portstest.Changes(t, func(t *testing.T) (here, there portstest.ChangingStore) {
		store, address := migrated(t)
		other := open(t, address)
		if err := sealtest.Seal(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		return store, other
	})
}

// acme stores a tenant.
func acme(t *testing.T, store outbound.UnitOfWork) {
	t.Helper()
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
		if err != nil {
			return err
		}
		return st.Tenants.Insert(ctx, ten)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func connection(t testing.TB, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// soon is how long these tests wait for what happens within a second on a quiet machine.
// It is less than it takes until a channel is replaced because it stays silent.
const soon = 4 * time.Second

// told changes the tenant behind the gateway's back and says whether that was told soon.
func told(t *testing.T, db *sql.DB, w *portstest.ChangeRecorder) bool {
	t.Helper()
	before := w.Count(owner)
	execute(t, db, `UPDATE tenants SET status = 'suspended'`)
	return w.Await(soon, func() bool { return w.Count(owner) > before })
}

func TestAChangeByHandIsTold(t *testing.T) {
	store, address := migrated(t)
	acme(t, store)
	w, _ := portstest.StartWatch(t, store)
	db := connection(t, address)
	if !told(t, db, w) {
		t.Error("it was not told")
	}
	before := w.Count(owner)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `UPDATE tenants SET status = 'active'`); err != nil {
		t.Fatal(err)
	}
	if w.Count(owner) != before {
		t.Error("it was told before the commit")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if !w.Await(soon, func() bool { return w.Count(owner) > before }) {
		t.Error("it was not told after the commit")
	}
}

func TestALostChannelIsNotTrustedUntilThereIsAnother(t *testing.T) {
	store, address := migrated(t)
	acme(t, store)
	w, _ := portstest.StartWatch(t, store)
	db := connection(t, address)
	for range 3 {
		lost := make(chan bool, 1)
		go func() { lost <- w.Await(soon, func() bool { return !w.Reliable() }) }()
		// What a listener did last is to listen or a ping, which is empty; a connection that
		// the pool has just made did nothing.
		const listeners = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle' AND query_start IS NOT NULL AND (query = '' OR query LIKE 'LISTEN%')`
		var ended int
		if err := db.QueryRowContext(t.Context(), listeners).Scan(&ended); err != nil || ended != 1 {
			t.Fatalf("ended %d, %v", ended, err)
		}
		if !<-lost {
			t.Error("it is trusted although it is gone")
		}
		if !w.Await(10*time.Second, w.Reliable) {
			t.Fatal("it did not come back")
		}
		if !told(t, db, w) {
			t.Error("the new channel tells nothing")
		}
	}
}

func TestASilentChannelIsNotTrusted(t *testing.T) {
	store, between, address := behindProxy(t)
	acme(t, store)
	w, _ := portstest.StartWatch(t, store)
	between.freeze()
	if !w.Await(soon, func() bool { return !w.Reliable() }) {
		t.Error("it is trusted although it is silent")
	}
	between.thaw()
	if !w.Await(5*time.Second, w.Reliable) {
		t.Fatal("it is not trusted although it speaks again")
	}
	if db := connection(t, address); !told(t, db, w) {
		t.Error("it tells nothing")
	}
}

func TestAChannelThatStaysSilentIsReplaced(t *testing.T) {
	store, between, address := behindProxy(t)
	acme(t, store)
	w, _ := portstest.StartWatch(t, store)
	between.freeze()
	if !w.Await(soon, func() bool { return !w.Reliable() }) {
		t.Error("it is trusted although it is silent")
	}
	if !w.Await(20*time.Second, w.Reliable) { // connections that are made now work
		t.Fatal("nobody connected again")
	}
	if db := connection(t, address); !told(t, db, w) {
		t.Error("the new channel tells nothing")
	}
}

func TestFollowingEndsThoughTheChannelIsSilent(t *testing.T) {
	store, between, _ := behindProxy(t)
	w, stop := portstest.StartWatch(t, store)
	between.freeze()
	if !w.Await(soon, func() bool { return !w.Reliable() }) {
		t.Error("it is trusted although it is silent")
	}
	stop() // fails when it takes long
}

// stuck is a watch that takes its time over each change.
type stuck struct {
	*portstest.ChangeRecorder
	goOn chan struct{}
}

func (s stuck) Changed(owner tenant.ID) {
	s.ChangeRecorder.Changed(owner)
	<-s.goOn
}

func TestFollowingLeavesNothingBehind(t *testing.T) {
	store, address := migrated(t)
	acme(t, store)
	db := connection(t, address)
	execute(t, db, `UPDATE tenants SET status = 'active'`)
	before := goleak.IgnoreCurrent()
	for range 3 {
		w := stuck{portstest.NewChangeRecorder(), make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- store.Watch(ctx, w) }()
		if !w.Await(10*time.Second, w.Reliable) {
			t.Fatal("it does not follow")
		}
		for range 100 { // more than the driver keeps for who does not listen
			execute(t, db, `UPDATE tenants SET status = 'suspended'`)
		}
		if !w.Await(10*time.Second, func() bool { return w.Count(owner) > 0 }) {
			t.Fatal("it was not told")
		}
		cancel()
		close(w.goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, before)
}

// proxy stands between a store and the database.
type proxy struct {
	address string

	mu      sync.Mutex
	pipes   []net.Conn
	silent  chan struct{} // closed when those that are frozen go on
	current map[net.Conn]chan struct{}
}

// behindProxy opens a store that has a proxy between itself and the database.
func behindProxy(t *testing.T) (store *sqlstore.Store, between *proxy, address string) {
	t.Helper()
	_, address = migrated(t)
	between = newProxy(t, address)
	store = open(t, between.address)
	t.Cleanup(between.thaw) // closing the store waits for answers
	return store, between, address
}

func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	network, target := "tcp", u.Host
	if folder := u.Query().Get("host"); folder != "" {
		network, target = "unix", folder+"/.s.PGSQL.5432"
	}
	q := u.Query()
	q.Del("host")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	p := &proxy{address: u.String(), current: make(map[net.Conn]chan struct{})}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			database, err := net.Dial(network, target)
			if err != nil {
				_ = client.Close()
				return
			}
			p.mu.Lock()
			p.pipes = append(p.pipes, client, database)
			p.current[client] = nil
			p.mu.Unlock()
			go p.forward(client, client, database)
			go p.forward(client, database, client)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		p.thaw()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.pipes {
			_ = c.Close()
		}
	})
	return p
}

// forward carries bytes one way, unless the connection is frozen.
func (p *proxy) forward(id, from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 1<<12)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		frozen := p.current[id]
		p.mu.Unlock()
		if frozen != nil {
			<-frozen
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// freeze stops what every connection of now carries; those that are made later work.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = make(chan struct{})
	for c := range p.current {
		p.current[c] = p.silent
	}
}

// thaw lets all connections go on.
func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent == nil {
		return
	}
	close(p.silent)
	p.silent = nil
	for c := range p.current {
		p.current[c] = nil
	}
}
