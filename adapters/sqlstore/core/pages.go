package core

import "sync"

// What the pages hold that are kept, of all tenants: so many records, whose texts have so
// many bytes. A page of more than maxKeptPage bytes is never kept: it would drive out many
// others, and is not what is asked for again and again.
const (
	maxKept      = 20_000
	maxKeptBytes = 16 << 20
	maxKeptPage  = 128 << 10
)

// pages are the last pages that were listed, by their statement and arguments, the
// tenant among them. Nothing notifies them of a change: whoever takes a page compares its
// stamp with the database's.
type pages struct {
	mu      sync.RWMutex
	kept    map[string]keptPage
	records int
	bytes   int // of all records, and of the keys
}

// keptPage is a domain.Page with the stamp of the table that it was read at.
type keptPage struct {
	stamp   string
	records int
	bytes   int
	page    any
}

func (p *pages) get(key string) (keptPage, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	found, ok := p.kept[key]
	return found, ok
}

func (p *pages) put(key string, one keptPage) {
	if one.bytes > maxKeptPage {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = make(map[string]keptPage)
	}
	p.drop(key)
	p.kept[key] = one
	p.records += one.records
	p.bytes += one.bytes + len(key)
	for other := range p.kept { // any will do
		if p.records <= maxKept && p.bytes <= maxKeptBytes {
			return
		}
		if other != key {
			p.drop(other)
		}
	}
}

// drop forgets a page, if there is one.
func (p *pages) drop(key string) {
	old, ok := p.kept[key]
	if !ok {
		return
	}
	p.records -= old.records
	p.bytes -= old.bytes + len(key)
	delete(p.kept, key)
}
