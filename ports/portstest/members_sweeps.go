package portstest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/outbound"
)

// signInSweeps is the contract of what removes sessions, links and letters that have ended.
func signInSweeps(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"sessions that ended before a time are swept, some at a time": func(f fixture) {
			u, other := f.user().ID(), f.user().ID()
			begin := noon.Add(member.SessionLife) // when those that began at noon end, whoever uses them
			idle := f.signIn(u, noon)             // for longer than the others
			used := f.signIn(u, begin.Add(-time.Minute))
			f.signIn(other, noon.Add(time.Hour))
			sweep := func(before time.Time, limit, want int) {
				f.Helper()
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Members.EndedSessions.Sweep(ctx, before, limit)
					if n != want {
						f.Errorf("before %s %d were swept, not %d", before, n, want)
					}
					return err
				})
			}
			sweep(noon.Add(member.SessionIdle), 9, 0)
			sweep(noon.Add(member.SessionIdle+time.Hour+time.Second), 1, 1)
			if diff := cmp.Diff([]member.SessionID{used.ID()}, f.sessions(u)); diff != "" || len(f.sessions(other)) != 1 {
				f.Errorf("%s was not the first: %s", idle.ID(), diff)
			}
			sweep(begin, 9, 1)
			sweep(begin.Add(time.Second), 9, 1)
			if left := len(f.sessions(u)) + len(f.sessions(other)); left != 0 {
				f.Errorf("%d are left", left)
			}
		},
		"letters that ended before a time are swept, some at a time, however they are due": func(f fixture) {
			var all []member.Letter
			for i := range 3 {
				at := noon.Add(time.Duration(i) * time.Hour)
				all = append(all, member.NewLetter(member.LetterID(fmt.Sprint("let_", i)), "anna@example.com", member.Reset, "", at))
				f.write(func(ctx context.Context, st outbound.Stores) error {
					return st.Members.Letters.Insert(ctx, all[i], noon.Add(100*time.Hour-time.Duration(i)*time.Minute))
				})
			}
			for _, c := range []struct {
				after time.Duration
				limit int
				want  int
			}{{0, 9, 0}, {time.Hour + time.Second, 1, 1}, {time.Hour + time.Second, 9, 1}, {2 * time.Hour, 9, 0}} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Members.EndedLetters.Sweep(ctx, noon.Add(member.LinkLife+c.after), c.limit)
					if n != c.want {
						f.Errorf("after %s %d were swept, not %d", c.after, n, c.want)
					}
					return err
				})
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				l, ok, err := st.Members.Letters.Claim(ctx, noon.Add(1000*time.Hour), noon.Add(2000*time.Hour))
				if !ok || l.ID != all[2].ID {
					f.Error("what is left is", l)
				}
				return err
			})
		},
		"links that ended before a time are swept, some at a time": func(f fixture) {
			var all []*member.Link
			for i := range 3 {
				all = append(all, member.NewLink(f.user().ID(), member.Reset, newToken(), noon.Add(time.Duration(i)*time.Hour)))
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Links.Insert(ctx, all[i]) })
			}
			for _, c := range []struct {
				after time.Duration
				limit int
				want  int
			}{{0, 9, 0}, {time.Hour + time.Second, 1, 1}, {time.Hour + time.Second, 9, 1}, {2 * time.Hour, 9, 0}} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Members.EndedLinks.Sweep(ctx, noon.Add(member.LinkLife+c.after), c.limit)
					if n != c.want {
						f.Errorf("after %s %d were swept, not %d", c.after, n, c.want)
					}
					return err
				})
			}
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Members.Links.Find(ctx, all[1].State().Hash)
				f.wantError(err, domain.NotFound, "link_ended")
				_, err = st.Members.Links.Find(ctx, all[2].State().Hash)
				return err
			})
		},
	})
}
