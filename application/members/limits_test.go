package members_test

import (
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
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
