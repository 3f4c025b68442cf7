package directory

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxHooks is how many addresses are kept, and as many that are nobody's.
const maxHooks = 1 << 13

// Hooks implements outbound.HookDirectory on what a [Directory] keeps.
type Hooks struct {
	known    *Directory
	compiler run.Compiler
}

var _ outbound.HookDirectory = (*Hooks)(nil)

// NewHooks returns the hooks that the directory keeps, with their expressions compiled.
func NewHooks(known *Directory, compiler run.Compiler) *Hooks {
	return &Hooks{known: known, compiler: compiler}
}

// Hook returns the hook with an address.
func (h *Hooks) Hook(ctx context.Context, hash hook.TokenHash) (outbound.OpenHook, error) {
	d := h.known
	if found, known, err := d.hook(hash); known {
		return found, err
	}
	select {
	case d.lookups <- struct{}{}:
		defer func() { <-d.lookups }()
	case <-ctx.Done():
		return outbound.OpenHook{}, ctx.Err()
	}
	if found, known, err := d.hook(hash); known { // another delivery asked while this one waited
		return found, err
	}
	since := d.since()
	found, err := h.find(ctx, hash)
	switch {
	case errors.Is(err, domain.NotFound):
		d.keep(since, func() {
			makeRoom(d.unknownHooks, maxHooks)
			d.unknownHooks[hash] = struct{}{}
		})
	case err == nil:
		d.keep(since, func() {
			makeRoom(d.hooks, maxHooks)
			d.hooks[hash] = found
		})
	}
	return found, err
}

// hook answers from memory.
func (d *Directory) hook(hash hook.TokenHash) (found outbound.OpenHook, known bool, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if found, known = d.hooks[hash]; known {
		return found, true, nil
	}
	if _, known = d.unknownHooks[hash]; known {
		return found, true, domain.Fail(domain.NotFound, "hook_not_found", "There is no such hook.")
	}
	return found, false, nil
}

func (d *Directory) dropHooks(owner tenant.ID) {
	for hash, h := range d.hooks {
		if h.Hook.Tenant() == owner {
			delete(d.hooks, hash)
		}
	}
	clear(d.unknownHooks) // one of them may have become an address
}

// find asks the store.
func (h *Hooks) find(ctx context.Context, hash hook.TokenHash) (found outbound.OpenHook, err error) {
	err = h.known.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found = outbound.OpenHook{}
		if found.Hook, err = st.Hooks.Hooks.Find(ctx, hash); err != nil {
			return err
		}
		if found.Tenant, err = st.Tenants.Get(ctx, found.Hook.Tenant()); err != nil {
			return err
		}
		found.Secrets, err = hookSecrets(ctx, st, found.Hook)
		return err
	})
	if err == nil {
		found.Reader = h.Reader(found.Hook)
	}
	return found, err
}

// Reader compiles the expressions of a hook.
func (h *Hooks) Reader(of *hook.Hook) *hook.Reader { return of.NewReader(h.compiler) }

// Secrets asks the store what a hook verifies with now.
func (h *Hooks) Secrets(ctx context.Context, of *hook.Hook) (found []hook.Secret, err error) {
	err = h.known.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = hookSecrets(ctx, st, of)
		return err
	})
	return found, err
}

// hookSecrets reads what a hook verifies with. A connection that is gone, or was switched off, verifies nothing.
func hookSecrets(ctx context.Context, st outbound.Stores, h *hook.Hook) (all []hook.Secret, err error) {
	for _, id := range h.Secrets() {
		var c *connection.Connection
		if c, err = st.Connections.Get(ctx, tenant.All(h.Tenant()), id); errors.Is(err, domain.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.Active() && c.Serves(h.SubTenant()) {
			all = append(all, hook.SecretsOf(c)...)
		}
	}
	return all, nil
}
