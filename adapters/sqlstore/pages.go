package sqlstore

import "sync"

// maxKept is how many records the pages hold that are kept, of all tenants.
const maxKept = 20_000

// pages are the last pages that were listed, by their statement and arguments, the
// tenant among them. Nothing tells them of a change: whoever takes a page compares its
// stamp with the database's.
type pages struct {
	mu      sync.RWMutex
	kept    map[string]keptPage
	records int
}

// keptPage is a domain.Page with the stamp of the table that it was read at.
type keptPage struct {
	stamp   string
	records int
	page    any
}

func (p *pages) get(key string) (keptPage, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	found, ok := p.kept[key]
	return found, ok
}

func (p *pages) put(key string, one keptPage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = make(map[string]keptPage)
	}
	p.records += one.records - p.kept[key].records
	p.kept[key] = one
	for other, old := range p.kept { // any will do
		if p.records <= maxKept {
			return
		}
		if other != key {
			p.records -= old.records
			delete(p.kept, other)
		}
	}
}
