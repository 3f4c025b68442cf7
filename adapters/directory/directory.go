// Package directory is the driven adapter that keeps in memory what nearly every
// request asks for: whose a key is, which node types its tenant sees, where a
// version belongs, and where custom nodes run. It stands in front of a unit of work,
// which it asks once for each answer, and drops an answer when outbound.Changes says
// so. While that cannot be promised it asks every time.
package directory

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of what is kept, in entries.
const (
	maxCredentials = 1 << 16
	maxUnknown     = 1 << 13 // hashes that are no key's
	maxRegistries  = 1 << 12
	maxEndpoints   = 1 << 12 // tenants whose endpoints of custom nodes are known
	maxVersions    = 1 << 16
)

// maxRegistryBytes bounds what the registries that are kept weigh together. One that weighs
// more than a quarter of it is kept while somebody uses it.
const maxRegistryBytes = 32 << 20

// maxLookups is how many credentials are looked up at the same time: keys that
// nobody made do not take the connections of those who do real work.
const maxLookups = 8

// Directory implements outbound.Directory. The zero value is of no use; call [New].
type Directory struct {
	switchedOff []string // built-in node types that the operator does not offer

	work    outbound.UnitOfWork
	lookups chan struct{}

	mu            sync.RWMutex
	reliable      bool
	changes       uint64 // counts changes; an answer read before a change is not kept after it
	credentials   map[tenant.KeyHash]outbound.Credential
	hashes        map[tenant.ID][]tenant.KeyHash // what is kept of a tenant in credentials
	uses          map[tenant.KeyID]*atomic.Int64 // when a use was last noted, in Unix milliseconds
	unknown       map[tenant.KeyHash]struct{}
	registries    map[tenant.ID]keptRegistry
	registryBytes int64 // what the registries weigh together
	large         map[tenant.ID]largeRegistry
	endpoints     map[tenant.ID]*nodeEndpoints
	versions      map[versionKey]outbound.VersionParent
	hooks         map[hook.TokenHash]outbound.OpenHook
	unknownHooks  map[hook.TokenHash]struct{}

	reading singleflight.Group // of registries

	hits, misses atomic.Uint64
}

var (
	_ outbound.Directory = (*Directory)(nil)
	_ outbound.Watcher   = (*Directory)(nil)
)

// New returns a directory that asks the unit of work each time, until something
// that implements outbound.Changes follows it and says that it may be trusted.
func New(work outbound.UnitOfWork) *Directory {
	d := &Directory{work: work, lookups: make(chan struct{}, maxLookups), versions: make(map[versionKey]outbound.VersionParent)}
	d.reset()
	return d
}

// SwitchOff leaves built-in node types out of every registry. It returns the directory, and is
// called before anybody uses it.
func (d *Directory) SwitchOff(types ...node.Type) *Directory {
	for _, t := range types {
		d.switchedOff = append(d.switchedOff, string(t))
	}
	return d
}

// Changed forgets what is known of a tenant.
func (d *Directory) Changed(owner tenant.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	for _, hash := range d.hashes[owner] {
		if c, ok := d.credentials[hash]; ok {
			delete(d.uses, c.Key.ID())
			delete(d.credentials, hash)
		}
	}
	delete(d.hashes, owner)
	d.dropRegistry(owner)
	delete(d.endpoints, owner)
	clear(d.unknown) // one of them may have become a key
	d.dropHooks(owner)
}

// SetReliable forgets everything, and says whether to remember from now on.
func (d *Directory) SetReliable(all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	d.reliable = all
	d.reset()
}

// reset drops what a change makes wrong.
func (d *Directory) reset() {
	d.credentials = make(map[tenant.KeyHash]outbound.Credential)
	d.hashes = make(map[tenant.ID][]tenant.KeyHash)
	d.uses = make(map[tenant.KeyID]*atomic.Int64)
	d.unknown = make(map[tenant.KeyHash]struct{})
	d.registries, d.registryBytes = make(map[tenant.ID]keptRegistry), 0
	d.large = make(map[tenant.ID]largeRegistry)
	d.endpoints = make(map[tenant.ID]*nodeEndpoints)
	d.hooks = make(map[hook.TokenHash]outbound.OpenHook)
	d.unknownHooks = make(map[hook.TokenHash]struct{})
}

// keep calls fn if nothing has changed since the answer was read.
func (d *Directory) keep(since uint64, fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reliable && d.changes == since {
		fn()
	}
}

// makeRoom drops any entry of a map that is full.
func makeRoom[K comparable, V any](m map[K]V, most int) {
	if len(m) < most {
		return
	}
	for key := range m {
		delete(m, key)
		return
	}
}

// Stats are counts since the start, and how much is kept now.
type Stats struct {
	Hits, Misses uint64 // credentials answered from memory, and not
	Credentials  int
	Reliable     bool // false while it asks the store each time
}

// Stats says how the directory is doing.
func (d *Directory) Stats() Stats {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return Stats{Hits: d.hits.Load(), Misses: d.misses.Load(), Credentials: len(d.credentials), Reliable: d.reliable}
}
