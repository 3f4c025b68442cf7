package portstest

import (
	"context"
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
			f.write(func(ctx context.Context, st outbound.Stores) error {
				if err := st.Members.Letters.Postpone(ctx, second.ID, noon.Add(4*time.Second)); err != nil {
					return err
				}
				return st.Members.Letters.Delete(ctx, first.ID)
			})
			want(second, 2, claim(4*time.Second))
			if got := claim(time.Minute); len(got) > 0 {
				f.Error("one is gone, and one claimed", got)
			}
			want(second, 3, claim(2*time.Minute)) // of who claimed it nothing was heard
		},
	})
}
