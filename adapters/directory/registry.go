package directory

import (
	"context"
	"fmt"
	"slices"
	"time"
	"weak"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// registryTimeout bounds reading a registry for all who wait for it.
const registryTimeout = 30 * time.Second

// keptRegistry is a registry, and the stamp that it was read at.
type keptRegistry struct {
	*node.Registry
	stamp string
}

// largeRegistry is one that is in memory while somebody uses it.
type largeRegistry struct {
	weak.Pointer[node.Registry]
	stamp string
}

// Registry returns the node types that a tenant sees. All who ask before it has changed
// share one, also while it is read: a large one is in memory once.
func (d *Directory) Registry(ctx context.Context, owner tenant.ID) (*node.Registry, error) {
	d.mu.RLock()
	found, since, trusted := d.keptRegistry(owner), d.changes, d.reliable
	d.mu.RUnlock()
	if found.Registry != nil {
		return found.Registry, nil
	}
	if !trusted { // what another is reading may be older than what the caller knows of
		return d.CurrentRegistry(ctx, owner)
	}
	return d.shareRegistry(ctx, owner, since, "")
}

// CurrentRegistry asks the store whether what is kept is what it has.
func (d *Directory) CurrentRegistry(ctx context.Context, owner tenant.ID) (*node.Registry, error) {
	var stamp string
	err := d.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		stamp, err = st.Addresses.Stamp(ctx, tenant.All(owner))
		return err
	})
	if err != nil {
		return nil, err
	}
	d.mu.RLock()
	found, since := d.keptRegistry(owner), d.changes
	d.mu.RUnlock()
	if found.Registry != nil && found.stamp == stamp {
		return found.Registry, nil
	}
	return d.shareRegistry(ctx, owner, since, stamp)
}

// shareRegistry reads a registry once for all who ask for the same while it is read: since as
// many changes, or at the same stamp.
func (d *Directory) shareRegistry(ctx context.Context, owner tenant.ID, since uint64, stamp string) (*node.Registry, error) {
	read, err, _ := d.reading.Do(fmt.Sprint(since, " ", stamp, " ", owner), func() (any, error) {
		d.mu.RLock()
		found := d.keptRegistry(owner)
		d.mu.RUnlock()
		if found.Registry != nil && (stamp == "" || found.stamp == stamp) { // another has read it since it was looked for
			return found.Registry, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registryTimeout) // others wait for it, too
		defer cancel()
		return d.readRegistry(ctx, owner, since)
	})
	if err != nil {
		return nil, err
	}
	return read.(*node.Registry), nil
}

// readRegistry reads a registry, and keeps it if nothing has changed since.
func (d *Directory) readRegistry(ctx context.Context, owner tenant.ID, since uint64) (found *node.Registry, err error) {
	var registry node.Registry
	var stamp string
	err = d.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, owner)
		if err != nil {
			return err
		}
		custom, err := st.CustomNodes.Active(ctx, tenant.All(owner))
		if err != nil {
			return err
		}
		if stamp, err = st.Addresses.Stamp(ctx, tenant.All(owner)); err != nil {
			return err
		}
		settings := ten.Settings()
		registry = node.RegistryFor(owner, settings.Language, slices.Concat(settings.DisabledNodeTypes, d.switchedOff), custom)
		return nil
	})
	if err != nil {
		return nil, err
	}
	found = &registry
	d.keep(since, func() {
		if kept := d.keptRegistry(owner); kept.Registry != nil && kept.stamp == stamp { // another had just read it
			found = kept.Registry
			return
		}
		d.dropRegistry(owner)
		weight := registry.Weight()
		if weight > maxRegistryBytes/4 { // it would put out those of many others
			makeRoom(d.large, maxRegistries)
			d.large[owner] = largeRegistry{weak.Make(found), stamp}
			return
		}
		for len(d.registries) >= maxRegistries || d.registryBytes+weight > maxRegistryBytes {
			d.dropAnyRegistry()
		}
		d.registries[owner] = keptRegistry{found, stamp}
		d.registryBytes += weight
	})
	return found, nil
}

// keptRegistry is that of a tenant, or nil if it is not in memory. The caller holds d.mu.
func (d *Directory) keptRegistry(owner tenant.ID) keptRegistry {
	if kept, ok := d.registries[owner]; ok {
		return kept
	}
	large := d.large[owner]
	return keptRegistry{large.Value(), large.stamp}
}

// dropAnyRegistry forgets one. The caller holds d.mu.
func (d *Directory) dropAnyRegistry() {
	for owner := range d.registries {
		d.dropRegistry(owner)
		return
	}
}

// dropRegistry forgets that of a tenant. The caller holds d.mu.
func (d *Directory) dropRegistry(owner tenant.ID) {
	delete(d.large, owner)
	if found, ok := d.registries[owner]; ok {
		d.registryBytes -= found.Weight()
		delete(d.registries, owner)
	}
}

// versionKey names a version of a tenant.
type versionKey struct {
	owner tenant.ID
	id    workflow.VersionID
}

// VersionParent returns where a version belongs. That never changes, so it is kept whether
// changes are followed or not.
func (d *Directory) VersionParent(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (outbound.VersionParent, error) {
	key := versionKey{scope.Tenant(), id}
	d.mu.RLock()
	belongs, known := d.versions[key]
	d.mu.RUnlock()
	if known && scope.Covers(belongs.SubTenant, string(belongs.Workflow)) {
		return belongs, nil
	}
	err := d.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		belongs, err = st.Versions.Parent(ctx, scope, id)
		return err
	})
	if err != nil {
		return belongs, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	makeRoom(d.versions, maxVersions)
	d.versions[key] = belongs
	return belongs, nil
}
