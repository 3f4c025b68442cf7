package directory

import (
	"context"
	"fmt"
	"time"
	"weak"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// registryTimeout bounds reading a registry for all who wait for it.
const registryTimeout = 30 * time.Second

// Registry returns the node types that a tenant sees. All who ask before it has changed
// share one, also while it is read: a large one is in memory once.
func (d *Directory) Registry(ctx context.Context, owner tenant.ID) (*node.Registry, error) {
	d.mu.RLock()
	found, since, trusted := d.keptRegistry(owner), d.changes, d.trusted
	d.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	if !trusted { // what another is reading may be older than what the caller knows of
		return d.readRegistry(ctx, owner, since)
	}
	read, err, _ := d.reading.Do(fmt.Sprint(since, " ", owner), func() (any, error) {
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
	found = &registry
	err = d.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, owner)
		if err != nil {
			return err
		}
		custom, err := st.CustomNodes.Active(ctx, tenant.All(owner))
		if err != nil {
			return err
		}
		settings := ten.Settings()
		registry = node.RegistryFor(owner, settings.Language, settings.DisabledNodeTypes, custom)
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.keep(since, func() {
		if kept := d.keptRegistry(owner); kept != nil { // another had just read it
			found = kept
			return
		}
		weight := registry.Weight()
		if weight > maxRegistryBytes/4 { // it would put out those of many others
			makeRoom(d.large, maxRegistries)
			d.large[owner] = weak.Make(&registry)
			return
		}
		for len(d.registries) >= maxRegistries || d.registryBytes+weight > maxRegistryBytes {
			d.dropAnyRegistry()
		}
		d.registries[owner] = &registry
		d.registryBytes += weight
	})
	return found, nil
}

// keptRegistry is that of a tenant if it is in memory, else nil. The caller holds d.mu.
func (d *Directory) keptRegistry(owner tenant.ID) *node.Registry {
	if kept := d.registries[owner]; kept != nil {
		return kept
	}
	return d.large[owner].Value()
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
	if found := d.registries[owner]; found != nil {
		d.registryBytes -= found.Weight()
		delete(d.registries, owner)
	}
}

// versionKey names a version of a tenant.
type versionKey struct {
	owner tenant.ID
	id    workflow.VersionID
}

// Belongs returns where a version belongs. That never changes, so it is kept whether
// changes are followed or not.
func (d *Directory) Belongs(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (outbound.Belonging, error) {
	key := versionKey{scope.Tenant(), id}
	d.mu.RLock()
	belongs, known := d.versions[key]
	d.mu.RUnlock()
	if known && scope.Covers(belongs.SubTenant) {
		return belongs, nil
	}
	err := d.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		belongs, err = st.Versions.Belongs(ctx, scope, id)
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
