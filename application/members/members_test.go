package members_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

const password, another = "correct horse battery staple", "seven green lamps in winter"

// known is what the provider of identities says.
type known struct{ outbound.Identity }

func (known) Enabled() bool { return true }
func (known) AuthorizationURL(_ context.Context, asked outbound.SignInRequest) (string, error) {
	return "https://id.example?state=" + asked.State, nil
}
func (k known) Exchange(context.Context, string, outbound.SignInRequest) (outbound.Identity, error) {
	return k.Identity, nil
}

type env struct {
	*testing.T
	work     outbound.UnitOfWork
	clock    *portstest.ManualClock
	hashes   *portstest.PlainPasswords
	provider *known
	*members.Service
	user *member.User
	link member.Token
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{T: t, work: sqlitetest.Open(t), clock: &portstest.ManualClock{}, hashes: &portstest.PlainPasswords{}, provider: &known{}}
	e.clock.Set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	e.Service = members.New(e.work, e.hashes, e.provider, memory.New(e.clock), e.clock, &system.Random{})
	var err error
	if e.user, err = member.NewUser("usr_1", member.UserDraft{Email: "anna@example.com"}, e.clock.Now()); err != nil {
		t.Fatal(err)
	}
	e.link = member.NewToken([member.TokenBytes]byte{1})
	e.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Members.Users.Insert(ctx, e.user), st.Members.Links.Insert(ctx, member.NewLink(e.user.ID(), member.Invitation, e.link, e.clock.Now())))
	})
	return e
}

func (e *env) write(fn func(context.Context, outbound.Stores) error) {
	e.Helper()
	if err := e.work.Do(e.Context(), fn); err != nil {
		e.Fatal(err)
	}
}

func codeOf(err error) string {
	var known *domain.Error
	_ = errors.As(err, &known)
	if known == nil {
		return ""
	}
	return known.Code
}

func (e *env) fails(err error, code string) {
	e.Helper()
	if codeOf(err) != code {
		e.Errorf("the error is %v, not %s", err, code)
	}
}

func (e *env) enter() inbound.Begun {
	e.Helper()
	begun, err := e.UseLink(e.Context(), e.link, password, member.Browser{})
	if err != nil {
		e.Fatal(err)
	}
	return begun
}

func TestAnInvitationSetsAPasswordOnce(t *testing.T) {
	e := newEnv(t)
	_, err := e.UseLink(t.Context(), e.link, "short", member.Browser{})
	e.fails(err, "password_invalid")
	begun := e.enter()
	if who, err := e.WhoAmI(t.Context(), begun.Token); err != nil || who.User.ID() != e.user.ID() {
		t.Errorf("signed in is %+v, %v", who, err)
	}
	_, err = e.UseLink(t.Context(), e.link, another, member.Browser{})
	e.fails(err, "link_ended")
}

func TestASignInThatFailsSaysNothingOfTheAccount(t *testing.T) {
	e := newEnv(t)
	e.enter()
	for _, asked := range []inbound.Login{{Email: "anna@example.com", Password: another}, {Email: "bert@example.com", Password: password}, {Email: "nobody", Password: password}, {Email: "anna@example.com"}} {
		before := e.hashes.Verified()
		_, err := e.SignIn(t.Context(), asked, member.Browser{})
		e.fails(err, "sign_in_refused")
		if e.hashes.Verified() != before+1 {
			t.Errorf("%s: a password was checked %d times", asked.Email, e.hashes.Verified()-before)
		}
	}
	for i := 0; ; i++ {
		_, err := e.SignIn(t.Context(), inbound.Login{Email: "bert@example.com", Password: "x"}, member.Browser{})
		if errors.Is(err, domain.RateLimited) {
			e.fails(err, "too_many_sign_ins")
			break
		}
		if i > 20 {
			t.Fatal("somebody may guess for ever")
		}
	}
}

func TestAPasswordChangeEndsTheOtherSessions(t *testing.T) {
	e := newEnv(t)
	first := e.enter()
	second, err := e.SignIn(t.Context(), inbound.Login{Email: "Anna@Example.com", Password: password}, member.Browser{})
	if err != nil || second.Token.Reveal() == first.Token.Reveal() {
		t.Fatal(err)
	}
	e.fails(e.ChangePassword(t.Context(), second.Token, another, another), "password_wrong")
	if err := e.ChangePassword(t.Context(), second.Token, password, another); err != nil {
		t.Fatal(err)
	}
	_, err = e.WhoAmI(t.Context(), first.Token)
	e.fails(err, "signed_out")
	if own, err := e.Sessions(t.Context(), second.Token); err != nil || len(own.Sessions) != 1 {
		t.Errorf("left are %+v, %v", own, err)
	}
	e.clock.Set(e.clock.Now().Add(member.SessionIdle))
	_, err = e.WhoAmI(t.Context(), second.Token)
	e.fails(err, "signed_out")
}

func TestIssuerAndSubjectDecideFromTheFirstSignInOn(t *testing.T) {
	e := newEnv(t)
	back := func(subject string, verified bool, state string) error {
		e.provider.Identity = outbound.Identity{Issuer: "https://id.example", Subject: subject, Email: "anna@example.com", EmailVerified: verified}
		to, err := e.Start(t.Context(), member.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		if state == "" {
			_, state, _ = strings.Cut(to.URL, "state=")
		}
		_, err = e.Finish(t.Context(), inbound.Return{Code: "c", SentState: state, Kept: to.Kept}, member.Browser{})
		return err
	}
	e.fails(back("1", false, ""), "sign_in_refused")
	e.fails(back("1", true, "of another browser"), "sign_in_refused")
	stranger := e.enter() // who has seen the invitation
	if err := back("1", true, ""); err != nil {
		t.Error(err)
	}
	if err := back("1", false, ""); err != nil {
		t.Error(err)
	}
	e.fails(back("2", true, ""), "sign_in_refused")
	_, err := e.WhoAmI(t.Context(), stranger.Token)
	e.fails(err, "signed_out")
	_, err = e.SignIn(t.Context(), inbound.Login{Email: "anna@example.com", Password: password}, member.Browser{})
	e.fails(err, "sign_in_refused")
}

func TestWhoComesInFirstReadsInTheLanguageOfTheBrowser(t *testing.T) {
	e := newEnv(t)
	begun, err := e.UseLink(t.Context(), e.link, password, member.Browser{Language: tenant.Spanish})
	if err != nil {
		t.Fatal(err)
	}
	if who, err := e.WhoAmI(t.Context(), begun.Token); err != nil || who.User.Language() != tenant.Spanish {
		t.Errorf("the language is %v, %v", who.User.Language(), err)
	}
	u := member.RestoreUser(member.UserState{Language: tenant.Spanish})
	if u.TakeLanguage(tenant.BrazilianPortuguese) || u.Language() != tenant.Spanish {
		t.Errorf("a language that was chosen became %v", u.Language())
	}
	u = member.RestoreUser(member.UserState{Language: tenant.English, Revision: 3}) // who has only links and took the browser's language, and then English
	if u.TakeLanguage(tenant.Spanish) || u.Language() != tenant.English {
		t.Errorf("English that was chosen became %v", u.Language())
	}
	if u = member.RestoreUser(member.UserState{Language: tenant.English, Revision: 1}); u.TakeLanguage("") {
		t.Errorf("an unknown language was taken: %v", u.Language())
	}
}
