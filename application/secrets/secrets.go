// Package secrets implements inbound.Secrets, what the operator does for the encryption of secrets.
package secrets

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Secrets.
type Service struct {
	work  outbound.UnitOfWork
	maker outbound.KeysetMaker
}

var _ inbound.Secrets = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, maker outbound.KeysetMaker) *Service {
	return &Service{work: work, maker: maker}
}

// Prepare makes the first keyset.
func (s *Service) Prepare(ctx context.Context) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Secrets.Keyset(ctx)
		if err != nil || found.Revision > 0 {
			return err
		}
		wrapped, err := s.maker.Make(ctx)
		if err != nil {
			return err
		}
		return st.Secrets.InsertKeyset(ctx, wrapped)
	})
}

// settled is how old a key is that all processes seal by: those that began to write before they knew of it are done.
const settled = 2 * outbound.KeysetLifetime

// keptKeys is how many keys stay after a rotation: the one before it, too, for a process that was frozen since then.
const keptKeys = 2

// batchRest is how many times as long as a batch took the database is then left to others.
const batchRest = 1

// Rotate adds a key and seals everything by it.
func (s *Service) Rotate(ctx context.Context, progress func(inbound.RotationProgress)) (done inbound.Rotated, err error) {
	var now inbound.RotationProgress
	if now.Resumed, err = s.begin(ctx); err != nil {
		return done, err
	}
	if now.Total, err = s.count(ctx); err != nil {
		return done, err
	}
	report := func(resealed int) {
		now.Done += resealed
		progress(now)
	}
	report(0)
	if done.Left, err = s.pass(ctx, report); err != nil {
		return done, err
	}
	if now.Waiting, err = s.settle(ctx, func() {
		now.Waiting = true
		report(0)
	}); err != nil {
		return done, err
	}
	if now.Waiting { // for who sealed by the key before
		if done.Left, err = s.pass(ctx, report); err != nil {
			return done, err
		}
	}
	done.Resealed = now.Done
	return done, s.end(ctx)
}

// begin makes a key, unless a rotation was interrupted.
func (s *Service) begin(ctx context.Context) (resumed bool, err error) {
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Secrets.Keyset(ctx)
		if err != nil {
			return err
		}
		if found.Revision == 0 {
			return outbound.ErrKeyMissing
		}
		if resumed = found.Rotating; resumed {
			return nil
		}
		wrapped, err := s.maker.Rotate(ctx, found.Wrapped)
		if err != nil {
			return err
		}
		return st.Secrets.BeginRotation(ctx, found.Revision, wrapped)
	})
	return resumed, err
}

func (s *Service) count(ctx context.Context) (n int, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		n, err = st.Sealed.CountSealed(ctx)
		return err
	})
	return n, err
}

// pass goes once through all values, and writes only where there are some to be sealed.
func (s *Service) pass(ctx context.Context, report func(resealed int)) (left int, err error) {
	var at outbound.SealedCursor
	for !at.Done {
		began, n := time.Now(), 0
		var next outbound.SealedCursor
		reseal := func(ctx context.Context, st outbound.Stores) (err error) {
			next, n, err = st.Sealed.Reseal(ctx, at)
			return err
		}
		err := s.work.Read(ctx, reseal)
		if err == nil && n > 0 {
			err = s.work.Do(outbound.WithYieldingWrite(ctx), reseal)
		}
		if err != nil {
			return at.Left, err
		}
		at = next
		report(n)
		if n > 0 && !outbound.Sleep(ctx, batchRest*time.Since(began)) {
			return at.Left, ctx.Err()
		}
	}
	return at.Left, nil
}

// settle waits until no process seals by an older key, and says whether there was one that might have.
func (s *Service) settle(ctx context.Context, waiting func()) (waited bool, err error) {
	for {
		var found outbound.Keyset
		others := 0
		err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			if found, err = st.Secrets.Keyset(ctx); err != nil {
				return err
			}
			alive, err := st.Processes.Alive(ctx)
			others = len(alive)
			return err
		})
		if err != nil || found.Age >= settled || others == 0 {
			return waited, err
		}
		if !waited {
			waited = true
			waiting()
		}
		if !outbound.Sleep(ctx, min(time.Second, settled-found.Age)) {
			return waited, ctx.Err()
		}
	}
}

// end removes keys that nothing is sealed by.
func (s *Service) end(ctx context.Context) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Secrets.Keyset(ctx)
		if err != nil || found.Complete {
			return err
		}
		wrapped, err := s.maker.Prune(ctx, found.Wrapped, keptKeys)
		if err != nil {
			return err
		}
		return st.Secrets.EndRotation(ctx, found.Revision, wrapped)
	})
}

// Complete seals what is left, once all processes seal by the newest key.
func (s *Service) Complete(ctx context.Context) (resealed int, err error) {
	var found outbound.Keyset
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Secrets.Keyset(ctx)
		return err
	})
	if err != nil || found.Revision == 0 || found.Complete || found.Age < settled {
		return 0, err
	}
	left, err := s.pass(ctx, func(n int) { resealed += n })
	if errors.Is(err, outbound.ErrKeyMissing) || errors.Is(err, outbound.ErrWrongKey) {
		return resealed, nil // the start has said so
	}
	if err != nil || left > 0 {
		return resealed, err
	}
	return resealed, s.end(ctx)
}

// Replace makes another keyset in place of one that cannot be opened.
func (s *Service) Replace(ctx context.Context) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Secrets.Keyset(ctx)
		if err != nil {
			return err
		}
		_, err = s.maker.Prune(ctx, found.Wrapped, keptKeys)
		switch {
		case err == nil:
			return domain.Fail(domain.Conflict, "encryption_key_not_lost", "The key opens the keyset: nothing is lost.")
		case !errors.Is(err, outbound.ErrWrongKey):
			return err
		}
		wrapped, err := s.maker.Make(ctx)
		if err != nil {
			return err
		}
		if err := st.Secrets.BeginRotation(ctx, found.Revision, wrapped); err != nil {
			return err
		}
		return st.Sealed.ForgetKeys(ctx)
	})
}

// Check tries to open everything.
func (s *Service) Check(ctx context.Context) (all inbound.SecretsChecked, err error) {
	var at outbound.SealedCursor
	for !at.Done {
		err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			next, found, err := st.Sealed.CheckSealed(ctx, at)
			if err != nil {
				return err
			}
			at = next
			all.Sealed, all.Older, all.Clear = all.Sealed+found.Sealed, all.Older+found.Older, all.Clear+found.Clear
			for _, u := range found.Unreadable {
				all.Unreadable = append(all.Unreadable, inbound.UnreadableSecret{
					Tenant: u.Of.Tenant, Kind: u.Table, Record: u.Of.Record, Field: u.Of.Field, Reason: u.Reason,
				})
			}
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
