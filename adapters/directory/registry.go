package directory

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Registry returns the node types that a tenant sees.
func (d *Directory) Registry(ctx context.Context, owner tenant.ID) (*node.Registry, error) {
	d.mu.RLock()
	found, since := d.registries[owner], d.changes
	d.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	var registry node.Registry
	err := d.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
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
	found = &registry
	weight := registry.Weight()
	if weight > maxRegistryBytes/4 {
		return found, nil // it would put out those of many others
	}
	d.keep(since, func() {
		if kept := d.registries[owner]; kept != nil { // another request asked at the same time
			found = kept
			return
		}
		for len(d.registries) >= maxRegistries || d.registryBytes+weight > maxRegistryBytes {
			d.dropAnyRegistry()
		}
		d.registries[owner] = found
		d.registryBytes += weight
	})
	return found, nil
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
