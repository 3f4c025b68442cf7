package core

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// pool is a connection pool with its prepared statements. The number of distinct
// queries is fixed by the source code.
type pool struct {
	db       *sqlx.DB
	mu       sync.Mutex // held while prepared is replaced
	prepared atomic.Pointer[map[string]*sqlx.Stmt]
}

func newPool(db *sqlx.DB) *pool {
	p := &pool{db: db}
	p.prepared.Store(&map[string]*sqlx.Stmt{})
	return p
}

func (p *pool) statement(query string) (*sqlx.Stmt, bool) {
	st, ok := (*p.prepared.Load())[query]
	return st, ok
}

// prepare makes statements of queries that a unit had to run without. It is
// called after the unit has given its connection back: a pool of one connection
// would wait for ever otherwise. Failing to prepare only costs speed.
func (p *pool) prepare(ctx context.Context, queries []string) {
	if len(queries) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next := maps.Clone(*p.prepared.Load())
	for _, query := range queries {
		if _, ok := next[query]; ok {
			continue
		}
		if st, err := p.db.PreparexContext(ctx, query); err == nil { //nolint:sqlclosecheck // closed with the pool
			next[query] = st
		}
	}
	p.prepared.Store(&next)
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, st := range *p.prepared.Load() {
		_ = st.Close() // closing the pool ends them in any case
	}
	return p.db.Close()
}
