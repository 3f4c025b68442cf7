package members_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func tokenOf(t *testing.T, text string) member.Token {
	t.Helper()
	_, text, _ = strings.Cut(text, "https://sluice.example/console/l/")
	token, ok := member.ParseToken(strings.SplitN(text, "\n", 2)[0])
	if !ok {
		t.Fatalf("there is no link in %q", text)
	}
	return token
}

func (e *env) letters(mail *portstest.Mailbox) members.Letters {
	return members.Letters{Mailer: mail, Public: func() string { return "https://sluice.example/" }}
}

// deliver sends what waits.
func (e *env) deliver(mail *portstest.Mailbox) {
	e.Helper()
	if err := e.queue(mail).SendDue(e.Context()); err != nil {
		e.Error(err)
	}
}

func (e *env) queue(mail *portstest.Mailbox) *members.MailQueue {
	return members.NewMailQueue(e.work, e.clock, &system.Random{}, e.letters(mail))
}

func (e *env) users(mail *portstest.Mailbox) *members.Users {
	return members.NewUsers(e.work, e.clock, &system.Random{}, e.letters(mail))
}

func (e *env) memberships(mail *portstest.Mailbox) *members.Memberships {
	return members.NewMemberships(e.work, e.clock, &system.Random{}, memory.New(e.clock), e.letters(mail))
}

// tenant makes a tenant, and returns it as the operator and one of its admins act for it.
func (e *env) tenant(id tenant.ID) (operator, admin tenant.Caller) {
	e.Helper()
	ten, err := tenant.New(id, tenant.Draft{Name: "Tenant\n" + string(id)}, e.clock.Now())
	if err != nil {
		e.Fatal(err)
	}
	e.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return tenant.Operator(id), tenant.CallerBy(tenant.Member{User: "usr_admin", Role: tenant.AdminRole}, ten)
}

func TestTheOperatorSeesALinkWhetherOrNotItIsMailed(t *testing.T) {
	for _, mail := range []*portstest.Mailbox{{}, {IsEnabled: true}} {
		e := newEnv(t)
		users := e.users(mail)
		made, err := users.Create(t.Context(), member.UserDraft{Email: "bert@example.com"})
		if err != nil || made.Mailed != mail.IsEnabled || len(mail.Sent) > 0 {
			t.Fatalf("made is %+v, mailed %+v, %v", made, mail.Sent, err)
		}
		e.deliver(mail)
		if mail.IsEnabled && (mail.Sent[0].To != "bert@example.com" || tokenOf(t, mail.Sent[0].Text).Reveal() == tokenOf(t, made.Link).Reveal()) {
			t.Errorf("mailed is %+v, shown %s", mail.Sent, made.Link)
		}
		again, err := users.Invite(t.Context(), "Bert@example.com")
		if err != nil {
			t.Fatal(err)
		}
		begun, err := e.UseLink(t.Context(), tokenOf(t, again.Link), password, member.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.UseLink(t.Context(), tokenOf(t, made.Link), another, member.Browser{})
		e.fails(err, "link_ended")
		_, err = users.Create(t.Context(), member.UserDraft{Email: "Bert@example.com"})
		e.fails(err, "user_exists")
		_, err = users.Invite(t.Context(), "bert@example.com")
		e.fails(err, "user_has_entered")

		in, err := users.SignInLink(t.Context(), "bert@example.com")
		if err != nil || in.Mailed {
			t.Fatalf("let in by %+v, %v", in, err)
		}
		if _, err := e.UseLink(t.Context(), tokenOf(t, in.Link), "", member.Browser{}); err != nil {
			t.Error(err)
		}
		reset, err := users.Reset(t.Context(), "bert@example.com")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.UseLink(t.Context(), tokenOf(t, reset.Link), another, member.Browser{}); err != nil {
			t.Error(err)
		}
		_, err = e.WhoAmI(t.Context(), begun.Token)
		e.fails(err, "signed_out")
		if all, err := users.List(t.Context(), domain.PageRequest{}); err != nil || all.Total != 2 {
			t.Errorf("users are %+v, %v", all, err)
		}
	}
}

func TestADisabledUserIsOutUntilEnabled(t *testing.T) {
	e := newEnv(t)
	users := e.users(&portstest.Mailbox{})
	begun := e.enter()
	open, err := users.Reset(t.Context(), "anna@example.com")
	if err != nil {
		t.Fatal(err)
	}
	login := inbound.Login{Email: "anna@example.com", Password: password}
	if _, err := users.Disable(t.Context(), "anna@example.com"); err != nil {
		t.Fatal(err)
	}
	_, err = e.WhoAmI(t.Context(), begun.Token)
	e.fails(err, "signed_out")
	_, err = e.SignIn(t.Context(), login, member.Browser{})
	e.fails(err, "sign_in_refused")
	for _, link := range []func(context.Context, string) (inbound.UserWithLink, error){users.Invite, users.Reset, users.SignInLink} {
		_, err = link(t.Context(), "anna@example.com")
		e.fails(err, "user_disabled")
		_, err = link(t.Context(), "nobody@example.com")
		e.fails(err, "user_not_found")
	}
	if u, err := users.Enable(t.Context(), "anna@example.com"); err != nil || u.IsDisabled() {
		t.Fatal(err)
	}
	_, err = e.UseLink(t.Context(), tokenOf(t, open.Link), another, member.Browser{})
	e.fails(err, "link_ended")
	if _, err := e.SignIn(t.Context(), login, member.Browser{}); err != nil {
		t.Error(err)
	}
}

func TestWhoAdministersATenantComesInAsNobodyElse(t *testing.T) {
	const address = "bert@example.com"
	none := func(*env, tenant.Caller, *portstest.Mailbox) {}
	entered := func(e *env, _ tenant.Caller, mail *portstest.Mailbox) {
		made, err := e.users(mail).Create(e.Context(), member.UserDraft{Email: address})
		if err == nil {
			_, err = e.UseLink(e.Context(), tokenOf(e.T, made.Link), password, member.Browser{})
		}
		if err != nil {
			e.Fatal(err)
		}
	}
	made := func(d member.UserDraft) func(*env, tenant.Caller, *portstest.Mailbox) {
		return func(e *env, _ tenant.Caller, mail *portstest.Mailbox) {
			if _, err := e.users(mail).Create(e.Context(), d); err != nil {
				e.Fatal(err)
			}
		}
	}
	elsewhere := func(e *env, other tenant.Caller, mail *portstest.Mailbox) {
		if _, err := e.memberships(mail).Add(e.Context(), other, domain.IdempotencyKey{}, inbound.MemberDraft{Email: address, Role: tenant.ViewerRole}); err != nil {
			e.Fatal(err)
		}
	}
	type result struct {
		code         string
		shown, mails bool
	}
	for claim, c := range map[string]struct {
		before                 func(*env, tenant.Caller, *portstest.Mailbox)
		admin, mailed, byOwner result // an admin without and with mail, the operator without
	}{
		"nobody has heard of":          {none, result{shown: true}, result{mails: true}, result{shown: true}},
		"who has not come in":          {made(member.UserDraft{Email: address}), result{code: "invitation_needs_mail"}, result{mails: true}, result{shown: true}},
		"who has come in":              {entered, result{code: "invitation_needs_mail"}, result{}, result{}},
		"one of the operator's people": {made(member.UserDraft{Email: address, IsOperator: true}), result{code: "invitation_needs_mail"}, result{mails: true}, result{shown: true}},
		"a member of another tenant":   {elsewhere, result{code: "invitation_needs_mail"}, result{mails: true}, result{shown: true}},
	} {
		for _, mails := range []bool{false, true} {
			for _, byOwner := range []bool{false, true} {
				if mails && byOwner {
					continue
				}
				e, mail := newEnv(t), &portstest.Mailbox{IsEnabled: mails}
				operator, admin := e.tenant("tenant_1")
				other, _ := e.tenant("tenant_2")
				c.before(e, other, mail)
				e.deliver(mail)
				mail.Sent = nil
				who, want := admin, c.admin
				switch {
				case byOwner:
					who, want = operator, c.byOwner
				case mails:
					want = c.mailed
				}
				added, err := e.memberships(mail).Add(t.Context(), who, domain.IdempotencyKey{}, inbound.MemberDraft{Email: address, Role: tenant.EditorRole})
				if want.code != "" {
					e.fails(err, want.code)
					continue
				}
				e.deliver(mail)
				if err != nil || (added.Link != "") != want.shown || (len(mail.Sent) == 1) != want.mails || added.Mailed != want.mails {
					t.Errorf("%s, mailed %v, by the operator %v: %+v, %+v, %v", claim, mails, byOwner, added, mail.Sent, err)
				}
				for _, m := range mail.Sent {
					if m.Subject != "You are invited to Tenant tenant_1" || m.To != address {
						t.Errorf("mailed is %+v", m)
					}
				}
			}
		}
	}
}

func TestAnInvitationThatWasShownLeadsIntoNoOtherTenant(t *testing.T) {
	e := newEnv(t)
	_, admin := e.tenant("tenant_1")
	other, _ := e.tenant("tenant_2")
	all := e.memberships(&portstest.Mailbox{})
	d := inbound.MemberDraft{Email: "bert@example.com", Role: tenant.AdminRole}
	shown, err := all.Add(t.Context(), admin, domain.IdempotencyKey{}, d)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := all.Add(t.Context(), other, domain.IdempotencyKey{}, d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.UseLink(t.Context(), tokenOf(t, shown.Link), password, member.Browser{})
	e.fails(err, "link_ended")
	if _, err := e.UseLink(t.Context(), tokenOf(t, theirs.Link), password, member.Browser{}); err != nil {
		t.Error(err)
	}
}

func TestWhoCameInByALinkThatAnAdminWasShownJoinsNoOtherTenantUnasked(t *testing.T) {
	e := newEnv(t)
	_, admin := e.tenant("tenant_1")
	operator, otherAdmin := e.tenant("tenant_2")
	all, mailing := e.memberships(&portstest.Mailbox{}), e.memberships(&portstest.Mailbox{IsEnabled: true})
	d := inbound.MemberDraft{Email: "bert@example.com", Role: tenant.EditorRole}
	shown, err := all.Add(t.Context(), admin, domain.IdempotencyKey{}, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.UseLink(t.Context(), tokenOf(t, shown.Link), password, member.Browser{}); err != nil { // which the admin himself may have done
		t.Fatal(err)
	}
	for _, who := range []tenant.Caller{operator, otherAdmin} {
		_, err := mailing.Add(t.Context(), who, domain.IdempotencyKey{}, d)
		e.fails(err, "user_not_confirmed")
	}
	if err := all.End(t.Context(), tenant.Operator("tenant_1"), shown.Membership.ID(), domain.Expected{}); err != nil {
		t.Fatal(err)
	}
	if again, err := all.Add(t.Context(), admin, domain.IdempotencyKey{}, d); err != nil || again.Link != "" {
		t.Errorf("the admin's own one comes back with %+v, %v", again, err)
	}

	reset, err := e.users(&portstest.Mailbox{}).Reset(t.Context(), d.Email) // the operator gives it to the person
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.UseLink(t.Context(), tokenOf(t, reset.Link), "a password of the person's own", member.Browser{}); err != nil {
		t.Fatal(err)
	}
	if _, err := mailing.Add(t.Context(), otherAdmin, domain.IdempotencyKey{}, d); err != nil {
		t.Error(err)
	}
	_, err = e.SignIn(t.Context(), inbound.Login{Email: d.Email, Password: password}, member.Browser{})
	e.fails(err, "sign_in_refused")
}

func TestAnAdminInvitesNobodyAgainAndAgain(t *testing.T) {
	e, mail := newEnv(t), &portstest.Mailbox{IsEnabled: true}
	operator, admin := e.tenant("tenant_1")
	_, otherAdmin := e.tenant("tenant_2")
	all := e.memberships(mail)
	add := func(who tenant.Caller, address string) error {
		added, err := all.Add(t.Context(), who, domain.IdempotencyKey{}, inbound.MemberDraft{Email: address, Role: tenant.ViewerRole})
		if err == nil {
			err = all.End(t.Context(), who, added.Membership.ID(), domain.Expected{})
		}
		return err
	}
	for range 5 {
		if err := add(admin, "bert@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	e.fails(add(admin, "Bert@example.com"), "too_many_invitations")
	if err := errors.Join(add(operator, "bert@example.com"), add(otherAdmin, "bert@example.com")); err != nil {
		t.Errorf("others cannot any more: %v", err)
	}
	for i := range 95 {
		if err := add(admin, fmt.Sprintf("b%d@example.com", i)); err != nil {
			t.Fatal(i, err)
		}
	}
	e.fails(add(admin, "carl@example.com"), "too_many_invitations")
	e.clock.Set(e.clock.Now().Add(time.Hour))
	if err := add(admin, "bert@example.com"); err != nil {
		t.Error(err)
	}
}

func TestMembersComeAndGo(t *testing.T) {
	e := newEnv(t)
	operator, _ := e.tenant("tenant_1")
	other, _ := e.tenant("tenant_2")
	all := e.memberships(&portstest.Mailbox{})
	for _, d := range []inbound.MemberDraft{{Email: "anna@example.com", Role: tenant.AdminRole}, {Email: "bert@example.com", Role: tenant.AdminRole}} {
		added, err := all.Add(t.Context(), operator, domain.IdempotencyKey{}, d)
		if err == nil {
			_, err = e.UseLink(t.Context(), tokenOf(t, added.Link), password, member.Browser{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for code, d := range map[string]inbound.MemberDraft{
		"member_exists": {Email: "Anna@example.com", Role: tenant.ViewerRole}, "member_invalid": {Email: "nobody", Role: "owner"},
	} {
		_, err := all.Add(t.Context(), operator, domain.IdempotencyKey{}, d)
		e.fails(err, code)
	}
	if found, err := all.List(t.Context(), operator, domain.PageRequest{}); err != nil || found.Total != 2 || found.Items[0].User.Email() != "bert@example.com" {
		t.Errorf("the members are %+v, %v", found, err)
	}
	if found, err := all.List(t.Context(), other, domain.PageRequest{}); err != nil || found.Total != 0 {
		t.Errorf("the other tenant's are %+v, %v", found, err)
	}
	for _, address := range []string{"anna@example.com", "carl@example.com", "no address"} {
		_, err := all.Remove(t.Context(), other, address)
		e.fails(err, "member_not_found")
	}
	if gone, err := all.Remove(t.Context(), operator, "Anna@example.com"); err != nil || gone.User.ID() != e.user.ID() {
		t.Errorf("gone is %+v, %v", gone, err)
	}
	invited, err := all.Add(t.Context(), operator, domain.IdempotencyKey{}, inbound.MemberDraft{Email: "carl@example.com", Role: tenant.AdminRole})
	if err != nil {
		t.Fatal(err)
	}
	_, err = all.Remove(t.Context(), operator, "bert@example.com") // of whom nobody can sign in but this one
	e.fails(err, "last_admin")
	if err := all.End(t.Context(), operator, invited.Membership.ID(), domain.Expected{}); err != nil {
		t.Errorf("an admin who never came in stays: %v", err)
	}
	if _, err := e.users(&portstest.Mailbox{}).Disable(t.Context(), "bert@example.com"); err != nil {
		t.Fatal(err)
	}
	if _, err := all.Remove(t.Context(), operator, "bert@example.com"); err != nil {
		t.Errorf("an admin who is disabled stays: %v", err)
	}
}
