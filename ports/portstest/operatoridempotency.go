package portstest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// operate claims the operator's key, has an effect, and keeps the outcome.
func (f fixture) operate(idempotency domain.IdempotencyKey, at time.Time, effect func(context.Context, outbound.Stores) error) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := st.OperatorIdempotency.Claim(ctx, idempotency, at); err != nil {
			return err
		}
		if err := effect(ctx, st); err != nil {
			return err
		}
		return st.OperatorIdempotency.Record(ctx, idempotency, "made", at)
	})
}

// OperatorIdempotencyRepository is the contract of outbound.OperatorOutcomeRepository.
func OperatorIdempotencyRepository(t *testing.T, open OpenStore) {
	recordedOperatorOutcomes(t, open)
	claimedOperatorKeys(t, open)
}

func recordedOperatorOutcomes(t *testing.T, open OpenStore) {
	nothing := func(context.Context, outbound.Stores) error { return nil }
	cases(t, open, map[string]func(f fixture){
		"a repeat gets the bytes that were recorded, within a day": func(f fixture) {
			ran := 0
			effect := func(context.Context, outbound.Stores) error {
				ran++
				return nil
			}
			for _, at := range []time.Time{noon, noon.Add(domain.IdempotencyRetention)} {
				if err := f.operate(onceWith("k", "same"), at, effect); err != nil {
					f.Fatal(err)
				}
				f.wantReplay(f.operate(onceWith("k", "same"), at.Add(domain.IdempotencyRetention-time.Second), effect))
			}
			if ran != 2 {
				f.Errorf("the command ran %d times", ran)
			}
		},
		"a repeat gets them although the tenant that was made is deleted": func(f fixture) {
			var made tenant.ID
			err := f.operate(onceWith("k", "same"), noon, func(ctx context.Context, st outbound.Stores) error {
				ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme"}, noon)
				if err != nil {
					return err
				}
				made = ten.ID()
				return st.Tenants.Insert(ctx, ten)
			})
			if err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, made) })
			f.wantReplay(f.operate(onceWith("k", "same"), noon, nothing))
		},
		"a unit that fails records nothing and has no effect": func(f fixture) {
			owner := f.tenant()
			for claim, idempotency := range map[string]domain.IdempotencyKey{
				"the effect": onceWith("k", "same"),
				"the answer": {Scope: "POST /things", Key: "k", Answer: func(any) ([]byte, error) { return nil, errOnPurpose }},
			} {
				err := f.operate(idempotency, noon, func(ctx context.Context, st outbound.Stores) error {
					if err := st.Tenants.Delete(ctx, owner.ID()); err != nil || claim == "the answer" {
						return err
					}
					return errOnPurpose
				})
				if !errors.Is(err, errOnPurpose) {
					f.Errorf("%s fails: %v", claim, err)
				}
			}
			if _, err := f.getTenant(owner.ID()); err != nil {
				f.Error(err)
			}
			if err := f.operate(onceWith("k", "same"), noon, nothing); err != nil {
				f.Errorf("the key is taken: %v", err)
			}
		},
		"sweeping removes the old ones, a batch at a time": func(f fixture) {
			for i, key := range []string{"a", "b", "c", "d"} {
				if err := f.operate(onceWith(key, "same"), noon.Add(time.Duration(i)*time.Hour), nothing); err != nil {
					f.Fatal(err)
				}
			}
			for _, want := range []int{2, 1, 0} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.OperatorIdempotency.Sweep(ctx, noon.Add(3*time.Hour), 2)
					if n != want {
						f.Errorf("swept %d, not %d", n, want)
					}
					return err
				})
			}
			f.wantReplay(f.operate(onceWith("d", "same"), noon.Add(4*time.Hour), nothing))
		},
	})
}

func claimedOperatorKeys(t *testing.T, open OpenStore) {
	nothing := func(context.Context, outbound.Stores) error { return nil }
	cases(t, open, map[string]func(f fixture){
		"the same key for another request is a mistake of the client": func(f fixture) {
			if err := f.operate(onceWith("k", "same"), noon, nothing); err != nil {
				f.Fatal(err)
			}
			f.wantError(f.operate(onceWith("k", "other"), noon, nothing), domain.Invalid, "idempotency_key_reused")
		},
		"another scope, another key and a tenant's key are free": func(f fixture) {
			if err := f.operate(onceWith("k", "same"), noon, nothing); err != nil {
				f.Fatal(err)
			}
			elsewhere := onceWith("k", "same")
			elsewhere.Scope = "POST /others"
			for claim, err := range map[string]error{
				"scope":    f.operate(elsewhere, noon, nothing),
				"key":      f.operate(onceWith("K", "same"), noon, nothing),
				"tenant's": f.do(f.tenant().ID(), onceWith("k", "same"), noon, func() {}),
			} {
				if err != nil {
					f.Errorf("another %s: %v", claim, err)
				}
			}
		},
		"of twenty units with one key one takes effect and the others are told": func(f fixture) {
			var effects, replays, busy atomic.Int64
			var done sync.WaitGroup
			for range 20 {
				done.Go(func() {
					ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme"}, noon)
					if err != nil {
						f.Error(err)
						return
					}
					err = f.operate(onceWith("k", "same"), noon, func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
					var replay *domain.Replay
					switch {
					case err == nil:
						effects.Add(1)
					case errors.As(err, &replay):
						replays.Add(1)
					default:
						busy.Add(1)
						f.wantError(err, domain.Conflict, "idempotency_in_progress")
					}
				})
			}
			done.Wait()
			_, made := f.listTenants(tenant.Filter{}, domain.Query{})
			if effects.Load() != 1 || made != 1 || effects.Load()+replays.Load()+busy.Load() != 20 {
				f.Errorf("%d effects, %d tenants, %d replays, %d told to wait", effects.Load(), made, replays.Load(), busy.Load())
			}
			f.wantReplay(f.operate(onceWith("k", "same"), noon, nothing))
		},
		"without a key nothing is asked and nothing is kept": func(f fixture) {
			for range 2 {
				if err := f.operate(domain.IdempotencyKey{}, noon, nothing); err != nil {
					f.Error(err)
				}
			}
		},
	})
}
