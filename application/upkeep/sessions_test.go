package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/application/upkeep"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// One session and one link have ended long enough ago, one of each only now, and one of each goes on.
func TestEndedSessionsAndLinksAreSwept(t *testing.T) {
	store := sqlitetest.Open(t)
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	ended := noon.Add(-member.EndedRetention)
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		u, err := member.NewUser("usr_1", member.UserDraft{Email: "anna@example.com"}, noon)
		if err != nil {
			return err
		}
		err = st.Members.Users.Insert(ctx, u)
		for i, at := range []time.Time{ended.Add(-time.Second), ended, noon.Add(time.Hour)} {
			token := member.NewToken([member.TokenBytes]byte{byte(i)})
			one := member.NewSession(member.SessionID(fmt.Sprint("ses_", i)), u.ID(), token, member.Browser{}, at.Add(-member.SessionIdle))
			link := member.NewLink(u.ID(), member.SignIn, token, at.Add(-member.SignInLife))
			err = errors.Join(err, st.Members.Sessions.Insert(ctx, one), st.Members.Links.Insert(ctx, link))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	service := upkeep.New(store, nil, clock, nil)
	for _, want := range []int{2, 0} {
		if removed, err := service.SweepSessions(t.Context()); removed != want || err != nil {
			t.Errorf("%d were removed, not %d: %v", removed, want, err)
		}
	}
	clock.Set(noon.Add(time.Second))
	if removed, err := service.SweepSessions(t.Context()); removed != 2 || err != nil {
		t.Errorf("%d were removed a second later: %v", removed, err)
	}
}
