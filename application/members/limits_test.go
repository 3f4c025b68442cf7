package members_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var signsIn = inbound.Login{Email: "anna@example.com", Password: password}

// Any page can have the browsers of a network ask for a link or come back from the provider.
func TestWhatAnyPageCanHaveABrowserAskForKeepsNobodyOut(t *testing.T) {
	e := newEnv(t)
	from := member.Browser{Address: "192.0.2.1"}
	limited := false
	for i := range 40 {
		_, err := e.Finish(t.Context(), inbound.Return{Code: "c", SentState: "s", Kept: "a.b.c"}, from)
		e.fails(err, "sign_in_refused")
		_, err = e.Link(t.Context(), member.NewToken([member.TokenBytes]byte{2, byte(i)}), from)
		limited = limited || codeOf(err) == "too_many_sign_ins"
	}
	if !limited {
		t.Error("who guesses links is not limited")
	}
	if open, err := e.Link(t.Context(), e.link, from); err != nil || open.User.ID() != e.user.ID() {
		t.Errorf("a good link shows %+v, %v", open, err)
	}
	if _, err := e.UseLink(t.Context(), e.link, password, from); err != nil {
		t.Errorf("a good link cannot be used: %v", err)
	}
	if _, err := e.SignIn(t.Context(), signsIn, from); err != nil {
		t.Errorf("nobody signs in: %v", err)
	}
	for range 40 {
		_, err := e.UseLink(t.Context(), e.link, password, from)
		limited = codeOf(err) == "too_many_sign_ins"
	}
	if !limited {
		t.Error("who uses links that have ended is not limited")
	}
	if _, err := e.SignIn(t.Context(), signsIn, from); err != nil {
		t.Errorf("links keep people from signing in: %v", err)
	}
}

// Somebody who knows an address is not to keep the user out, who comes from elsewhere.
func TestGuessesOfOthersLockNobodyOut(t *testing.T) {
	e := newEnv(t)
	e.enter()
	guess := func(from string, n int) (limited bool) {
		for range n {
			_, err := e.SignIn(t.Context(), inbound.Login{Email: "anna@example.com", Password: another}, member.Browser{Address: from})
			limited = codeOf(err) == "too_many_sign_ins"
		}
		return limited
	}
	if guess("2001:db8::1", 10) || !guess("2001:db8::2", 5) {
		t.Error("ten guesses from a network are not the limit")
	}
	mine := member.Browser{Address: "192.0.2.1"}
	begun, err := e.SignIn(t.Context(), signsIn, mine)
	if err != nil {
		t.Fatalf("the user cannot sign in from elsewhere: %v", err)
	}
	for i := range 10 {
		guess(fmt.Sprintf("198.51.100.%d", i), 10)
	}
	if !guess("198.51.100.200", 1) {
		t.Error("somebody with many networks may guess for ever")
	}
	if err := e.ChangePassword(t.Context(), begun.Token, password, another); err != nil {
		t.Errorf("guesses keep the user from another password: %v", err)
	}
	for range 12 {
		err = e.ChangePassword(t.Context(), begun.Token, password, password)
	}
	e.fails(err, "too_many_sign_ins")
}

// writes counts the units that write.
type writes struct {
	outbound.UnitOfWork
	n int
}

func (w *writes) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	w.n++
	return w.UnitOfWork.Do(ctx, fn)
}

func TestSigningOutOfNothingWritesNothing(t *testing.T) {
	e := newEnv(t)
	begun := e.enter()
	counted := &writes{UnitOfWork: e.work}
	service := members.New(counted, e.hashes, e.provider, memory.New(e.clock), e.clock, &system.Random{})
	if err := service.SignOut(t.Context(), member.NewToken([member.TokenBytes]byte{9})); err != nil || counted.n != 0 {
		t.Errorf("%d units write: %v", counted.n, err)
	}
	for range 2 {
		if err := service.SignOut(t.Context(), begun.Token); err != nil || counted.n != 1 {
			t.Errorf("%d units write: %v", counted.n, err)
		}
	}
	_, err := e.WhoAmI(t.Context(), begun.Token)
	e.fails(err, "signed_out")
}

func TestASignInEndsTheSessionThatTheBrowserHad(t *testing.T) {
	e := newEnv(t)
	first := e.enter()
	elsewhere, err := e.SignIn(t.Context(), signsIn, member.Browser{})
	if err != nil {
		t.Fatal(err)
	}
	again := func(token member.Token, begin func(member.Browser) (inbound.Begun, error)) member.Token {
		t.Helper()
		begun, err := begin(member.Browser{Session: token})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.WhoAmI(t.Context(), token)
		e.fails(err, "signed_out")
		return begun.Token
	}
	second := again(first.Token, func(from member.Browser) (inbound.Begun, error) { return e.SignIn(t.Context(), signsIn, from) })
	third := again(second, func(from member.Browser) (inbound.Begun, error) {
		link := member.NewToken([member.TokenBytes]byte{3})
		e.write(func(ctx context.Context, st outbound.Stores) error {
			return st.Members.Links.Insert(ctx, member.NewLink(e.user.ID(), member.SignIn, link, e.clock.Now()))
		})
		return e.UseLink(t.Context(), link, "", from)
	})
	_, err = e.SignIn(t.Context(), inbound.Login{Email: "anna@example.com", Password: another}, member.Browser{Session: third})
	e.fails(err, "sign_in_refused")
	for _, token := range []member.Token{elsewhere.Token, third} { // another browser's, and that of who did not come in
		if _, err := e.WhoAmI(t.Context(), token); err != nil {
			t.Errorf("a session has ended: %v", err)
		}
	}
	e.write(func(ctx context.Context, st outbound.Stores) error { // somebody who joined before
		u, err := st.Members.Users.Get(ctx, e.user.ID())
		if err != nil {
			return err
		}
		return errors.Join(u.Join(member.Identity{Issuer: "https://id.example", Subject: "1"}, ""), st.Members.Users.Update(ctx, u))
	})
	again(third, func(from member.Browser) (inbound.Begun, error) {
		e.provider.Identity = outbound.Identity{Issuer: "https://id.example", Subject: "1"}
		to, err := e.Start(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		_, state, _ := strings.Cut(to.URL, "state=")
		return e.Finish(t.Context(), inbound.Return{Code: "c", SentState: state, Kept: to.Kept}, from)
	})
}

func TestDeparturesAreLimitedByThemselves(t *testing.T) {
	e := newEnv(t)
	e.enter()
	from := member.Browser{Address: "192.0.2.1"}
	var err error
	for range 121 {
		_, err = e.Start(t.Context(), from)
	}
	e.fails(err, "too_many_sign_ins")
	if _, err := e.SignIn(t.Context(), signsIn, from); err != nil {
		t.Errorf("they keep people from signing in: %v", err)
	}
	if _, err := e.Start(t.Context(), member.Browser{Address: "192.0.2.2"}); err != nil {
		t.Errorf("they keep others from leaving: %v", err)
	}
}
