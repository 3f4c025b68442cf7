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

func onceWith(key, fingerprint string) domain.IdempotencyKey {
	return domain.IdempotencyKey{
		Scope: "POST /things", Key: key, Fingerprint: fingerprint,
		Answer: func(outcome any) ([]byte, error) {
			text, _ := outcome.(string)
			return []byte("answer: \x00\xff" + text), nil
		},
	}
}

// do claims the key, counts the run, and keeps the outcome.
func (f fixture) do(owner tenant.ID, idempotency domain.IdempotencyKey, at time.Time, effect func()) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, owner, idempotency, at); err != nil {
			return err
		}
		effect()
		return st.Idempotency.Record(ctx, owner, idempotency, "made", at)
	})
}

func (f fixture) wantReplay(err error) {
	f.Helper()
	var replay *domain.Replay
	if !errors.As(err, &replay) || string(replay.Answer) != "answer: \x00\xffmade" {
		f.Errorf("the repeat got %v", err)
	}
}

// IdempotencyRepository is the contract of outbound.OutcomeRepository.
func IdempotencyRepository(t *testing.T, open OpenStore) {
	recordedOutcomes(t, open)
	claimedKeys(t, open)
	expiredOutcomes(t, open)
}

func recordedOutcomes(t *testing.T, open OpenStore) {
	nothing := func() {}
	cases(t, open, map[string]func(f fixture){
		"a repeat gets the bytes that were recorded": func(f fixture) {
			owner := f.tenant().ID()
			if err := f.do(owner, onceWith("k", "same"), noon, nothing); err != nil {
				f.Fatal(err)
			}
			f.wantReplay(f.do(owner, onceWith("k", "same"), noon.Add(23*time.Hour), func() { f.Error("the repeat had an effect") }))
		},
		"a repeat gets what was found out afterwards": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			amend := func(owner tenant.ID, idempotency domain.IdempotencyKey, outcome string) {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					return st.Idempotency.Amend(ctx, owner, idempotency, outcome)
				})
			}
			recorded := func(owner tenant.ID, idempotency domain.IdempotencyKey) string {
				var replay *domain.Replay
				if err := f.do(owner, idempotency, noon, nothing); !errors.As(err, &replay) {
					f.Fatalf("nothing is recorded: %v", err)
				}
				return string(replay.Answer)
			}
			first, second := onceWith("k", "same"), onceWith("K", "same")
			amend(owner, first, "before there is one")
			amend(owner, domain.IdempotencyKey{}, "without a key")
			for _, idempotency := range []domain.IdempotencyKey{first, second} {
				if err := f.do(owner, idempotency, noon, nothing); err != nil {
					f.Fatal(err)
				}
			}
			amend(owner, first, "more")
			amend(owner, onceWith("k", "other"), "of another request")
			amend(other, first, "of another tenant")
			if got := recorded(owner, first); got != "answer: \x00\xffmore" {
				f.Errorf("recorded is %q", got)
			}
			if got := recorded(owner, second); got != "answer: \x00\xffmade" {
				f.Errorf("recorded under another key is %q", got)
			}
		},
		"a command whose effect is outside is in progress until it is amended, or its time is over": func(f fixture) {
			owner := f.tenant().ID()
			begin := func(idempotency domain.IdempotencyKey) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					if err := st.Idempotency.Claim(ctx, owner, idempotency, noon); err != nil {
						return err
					}
					return st.Idempotency.Begin(ctx, owner, idempotency, "made", noon, noon.Add(time.Minute))
				})
			}
			amended, interrupted := onceWith("k", "same"), onceWith("K", "same")
			for _, idempotency := range []domain.IdempotencyKey{amended, interrupted, {}} {
				if err := begin(idempotency); err != nil {
					f.Fatal(err)
				}
			}
			almost := noon.Add(time.Minute - time.Millisecond)
			for _, idempotency := range []domain.IdempotencyKey{amended, interrupted} {
				f.wantError(f.do(owner, idempotency, almost, nothing), domain.Conflict, "idempotency_in_progress")
				f.wantError(f.do(owner, onceWith(idempotency.Key, "other"), almost, nothing), domain.Invalid, "idempotency_key_reused")
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Idempotency.Amend(ctx, owner, amended, "made")
			})
			f.wantReplay(f.do(owner, amended, almost, nothing))
			f.wantError(f.do(owner, interrupted, almost, nothing), domain.Conflict, "idempotency_in_progress")
			f.wantReplay(f.do(owner, interrupted, noon.Add(time.Minute), nothing))
			expired := noon.Add(domain.IdempotencyRetention)
			if err := f.do(owner, interrupted, expired, nothing); err != nil {
				f.Errorf("in the place of one that has expired: %v", err)
			}
			f.wantReplay(f.do(owner, interrupted, expired, nothing))
		},
		"a unit that fails records nothing": func(f fixture) {
			owner := f.tenant().ID()
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if err := st.Idempotency.Record(ctx, owner, onceWith("k", "same"), "made", noon); err != nil {
					return err
				}
				return errOnPurpose
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			if err := f.do(owner, onceWith("k", "same"), noon, nothing); err != nil {
				f.Errorf("the key is taken: %v", err)
			}
		},
		"an answer that cannot be rendered keeps the unit from committing": func(f fixture) {
			owner := f.tenant().ID()
			broken := onceWith("k", "same")
			broken.Answer = func(any) ([]byte, error) { return nil, errOnPurpose }
			if err := f.do(owner, broken, noon, nothing); !errors.Is(err, errOnPurpose) {
				f.Errorf("the error is %v", err)
			}
		},
	})
}

func claimedKeys(t *testing.T, open OpenStore) {
	nothing := func() {}
	cases(t, open, map[string]func(f fixture){
		"the same key for another request is a mistake of the client": func(f fixture) {
			owner := f.tenant().ID()
			if err := f.do(owner, onceWith("k", "same"), noon, nothing); err != nil {
				f.Fatal(err)
			}
			f.wantError(f.do(owner, onceWith("k", "other"), noon, nothing), domain.Invalid, "idempotency_key_reused")
		},
		"another tenant, another scope and another key are free": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			if err := f.do(owner, onceWith("k", "same"), noon, nothing); err != nil {
				f.Fatal(err)
			}
			elsewhere := onceWith("k", "same")
			elsewhere.Scope = "POST /others"
			for claim, err := range map[string]error{
				"tenant": f.do(other, onceWith("k", "same"), noon, nothing),
				"scope":  f.do(owner, elsewhere, noon, nothing),
				"key":    f.do(owner, onceWith("K", "same"), noon, nothing),
			} {
				if err != nil {
					f.Errorf("another %s: %v", claim, err)
				}
			}
		},
		"of thirty units with one key one takes effect and the others are told": func(f fixture) {
			owner := f.tenant().ID()
			var effects, replays, busy atomic.Int64
			var done sync.WaitGroup
			for range 30 {
				done.Go(func() {
					wf := f.newWorkflow(owner, "", newID("name"))
					err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
						if err := st.Idempotency.Claim(ctx, owner, onceWith("k", "same"), noon); err != nil {
							return err
						}
						if err := st.Workflows.Insert(ctx, wf); err != nil {
							return err
						}
						return st.Idempotency.Record(ctx, owner, onceWith("k", "same"), "made", noon)
					})
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
			if effects.Load() != 1 || effects.Load()+replays.Load()+busy.Load() != 30 {
				f.Errorf("%d effects, %d replays, %d told to wait", effects.Load(), replays.Load(), busy.Load())
			}
			f.wantReplay(f.do(owner, onceWith("k", "same"), noon, nothing))
		},
		"without a key nothing is asked and nothing is kept": func(f fixture) {
			owner := f.tenant().ID()
			ran := 0
			for range 2 {
				if err := f.do(owner, domain.IdempotencyKey{}, noon, func() { ran++ }); err != nil {
					f.Fatal(err)
				}
			}
			if ran != 2 {
				f.Errorf("the command ran %d times", ran)
			}
		},
	})
}

func expiredOutcomes(t *testing.T, open OpenStore) {
	nothing := func() {}
	cases(t, open, map[string]func(f fixture){
		"an outcome is forgotten after a day": func(f fixture) {
			owner := f.tenant().ID()
			ran := 0
			for _, at := range []time.Time{noon, noon.Add(domain.IdempotencyRetention)} {
				if err := f.do(owner, onceWith("k", "same"), at, func() { ran++ }); err != nil {
					f.Fatal(err)
				}
			}
			if ran != 2 {
				f.Errorf("the command ran %d times", ran)
			}
			f.wantReplay(f.do(owner, onceWith("k", "same"), noon.Add(domain.IdempotencyRetention+time.Hour), nothing))
		},
		"sweeping removes the old ones, a batch at a time": func(f fixture) {
			owner := f.tenant().ID()
			for i, key := range []string{"a", "b", "c", "d"} {
				if err := f.do(owner, onceWith(key, "same"), noon.Add(time.Duration(i)*time.Hour), nothing); err != nil {
					f.Fatal(err)
				}
			}
			for _, want := range []int{2, 1, 0} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Idempotency.Sweep(ctx, noon.Add(3*time.Hour), 2)
					if n != want {
						f.Errorf("swept %d, not %d", n, want)
					}
					return err
				})
			}
			f.wantReplay(f.do(owner, onceWith("d", "same"), noon.Add(4*time.Hour), nothing))
		},
	})
}
