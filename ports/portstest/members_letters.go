package portstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/outbound"
)

// letterRepository is the contract of outbound.LetterRepository.
func letterRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"letters come back when they are due, the oldest first, and are kept from others meanwhile": func(f fixture) {
			first, second := member.NewLetter("let_2", "anna@example.com", member.Invitation, "tenant_1", noon), member.NewLetter("let_1", "bert@example.com", member.Reset, "", noon)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				if err := st.Members.Letters.Insert(ctx, second, noon.Add(time.Second)); err != nil {
					return err
				}
				return st.Members.Letters.Insert(ctx, first, noon)
			})
			claim := func(after time.Duration) (all []member.Letter) {
				f.Helper()
				f.write(func(ctx context.Context, st outbound.Stores) error {
					l, ok, err := st.Members.Letters.Claim(ctx, noon.Add(after), noon.Add(after+time.Minute))
					if all = nil; ok {
						all = []member.Letter{l}
					}
					return err
				})
				return all
			}
			want := func(l member.Letter, attempts int, got []member.Letter) {
				f.Helper()
				l.Attempts = attempts
				if diff := cmp.Diff([]member.Letter{l}, got); diff != "" {
					f.Error(diff)
				}
			}
			if got := claim(-time.Millisecond); len(got) > 0 {
				f.Error("nothing is due", got)
			}
			want(first, 1, claim(2*time.Second))
			want(second, 1, claim(2*time.Second))
			if got := claim(3 * time.Second); len(got) > 0 {
				f.Error("both are claimed", got)
			}
			first.Attempts, second.Attempts = 1, 1
			f.write(func(ctx context.Context, st outbound.Stores) error {
				if err := st.Members.Letters.Postpone(ctx, second, noon.Add(4*time.Second)); err != nil {
					return err
				}
				return st.Members.Letters.Delete(ctx, first)
			})
			want(second, 2, claim(4*time.Second))
			if got := claim(time.Minute); len(got) > 0 {
				f.Error("one is gone, and one claimed", got)
			}
			want(second, 3, claim(2*time.Minute)) // of who claimed it nothing was heard
		},
		"who has lost a claim neither postpones nor deletes the letter": func(f fixture) {
			claim := func(at time.Time) (l member.Letter, ok bool) {
				f.Helper()
				f.write(func(ctx context.Context, st outbound.Stores) (err error) {
					l, ok, err = st.Members.Letters.Claim(ctx, at, at.Add(time.Minute))
					return err
				})
				return l, ok
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Letters.Insert(ctx, member.NewLetter("let_1", "anna@example.com", member.Reset, "", noon), noon)
			})
			lost, _ := claim(noon)
			held, ok := claim(noon.Add(time.Minute))
			if !ok || held.Attempts != 2 {
				f.Fatal(held, ok)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Members.Letters.Postpone(ctx, lost, noon), st.Members.Letters.Delete(ctx, lost))
			})
			if l, ok := claim(noon.Add(time.Minute)); ok {
				f.Error("it is due again", l)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Letters.Delete(ctx, held) })
			if l, ok := claim(noon.Add(time.Hour)); ok {
				f.Error("it is left", l)
			}
		},
	})
}
