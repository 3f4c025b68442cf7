package directory

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Credential returns a key with its tenant.
func (d *Directory) Credential(ctx context.Context, hash tenant.KeyHash) (outbound.Credential, error) {
	if c, known, err := d.get(hash); known {
		d.hits.Add(1)
		return c, err
	}
	select {
	case d.lookups <- struct{}{}:
		defer func() { <-d.lookups }()
	case <-ctx.Done():
		return outbound.Credential{}, ctx.Err()
	}
	if c, known, err := d.get(hash); known { // another request asked while this one waited
		d.hits.Add(1)
		return c, err
	}
	d.misses.Add(1)
	return d.find(ctx, hash)
}

// get answers from memory.
func (d *Directory) get(hash tenant.KeyHash) (c outbound.Credential, known bool, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if c, known = d.credentials[hash]; known {
		return c, true, nil
	}
	if _, known = d.unknown[hash]; known {
		return c, true, domain.Fail(domain.NotFound, "api_key_not_found", "There is no such API key.")
	}
	return c, false, nil
}

// find asks the store, and keeps the answer.
func (d *Directory) find(ctx context.Context, hash tenant.KeyHash) (c outbound.Credential, err error) {
	since := d.since()
	err = d.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		c, err = st.Credentials.Find(ctx, hash)
		return err
	})
	switch {
	case errors.Is(err, domain.NotFound):
		d.keep(since, func() {
			makeRoom(d.unknown, maxUnknown)
			d.unknown[hash] = struct{}{}
		})
	case err == nil:
		d.keep(since, func() { d.put(hash, c) })
	}
	return c, err
}

func (d *Directory) put(hash tenant.KeyHash, c outbound.Credential) {
	if _, known := d.credentials[hash]; known {
		return
	}
	for len(d.credentials) >= maxCredentials {
		d.dropTenant()
	}
	d.credentials[hash] = c
	owner := c.Tenant.ID()
	d.hashes[owner] = append(d.hashes[owner], hash)
	d.uses[c.Key.ID()] = new(atomic.Int64)
}

// dropTenant drops the keys of any tenant.
func (d *Directory) dropTenant() {
	for owner, hashes := range d.hashes {
		for _, hash := range hashes {
			delete(d.uses, d.credentials[hash].Key.ID())
			delete(d.credentials, hash)
		}
		delete(d.hashes, owner)
		return
	}
}

func (d *Directory) since() uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.changes
}

// noteTimeout is how long a request waits for the note that its key was used.
const noteTimeout = 250 * time.Millisecond

// RecordUse records a use unless one was recorded a short while ago. Of the requests
// that find a note due, one writes it and the others continue. A note that cannot be
// written is left out: no request fails for it, and the next one is due a while later.
func (d *Directory) RecordUse(ctx context.Context, c outbound.Credential, at time.Time) {
	if c.Key.RecentlyUsed(at) {
		return
	}
	d.mu.RLock()
	noted := d.uses[c.Key.ID()]
	d.mu.RUnlock()
	if noted != nil {
		last, now := noted.Load(), at.UnixMilli()
		if now-last < tenant.UsedResolution.Milliseconds() || !noted.CompareAndSwap(last, now) {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_ = d.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { // the next use is noted instead
		return st.Credentials.RecordUse(ctx, c.Tenant.ID(), c.Key.ID(), at)
	})
}
