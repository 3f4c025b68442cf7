package members_test

import (
	"context"
	"errors"
	"fmt"
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

// invite has an admin add somebody, while no mail server answers.
func (e *env) invite(mail *portstest.Mailbox, admin tenant.Caller, address string) {
	e.Helper()
	added, err := e.memberships(mail).Add(e.Context(), admin, domain.IdempotencyKey{}, inbound.MemberDraft{Email: address, Role: tenant.EditorRole})
	if err != nil || !added.Mailed || added.Link != "" {
		e.Fatal(added, err)
	}
}

// waiting is whether a letter is left, whenever it is due.
func (e *env) waiting() (left bool) {
	e.Helper()
	rolledBack := errors.New("only looked")
	err := e.work.Do(e.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		if _, left, err = st.Members.Letters.Claim(ctx, e.clock.Now().Add(1000*time.Hour), e.clock.Now()); err != nil {
			return err
		}
		return rolledBack
	})
	if !errors.Is(err, rolledBack) {
		e.Fatal(err)
	}
	return left
}

func TestAnInvitationOutlivesADeadMailServer(t *testing.T) {
	e, mail := newEnv(t), &portstest.Mailbox{IsEnabled: true, Fails: domain.Fail(domain.Unavailable, "mail_unavailable", "away")}
	_, admin := e.tenant("tenant_1")
	e.invite(mail, admin, "bert@example.com")
	for range 3 {
		if err := e.queue(mail).SendDue(t.Context()); codeOf(err) != "mail_unavailable" {
			t.Fatal(err)
		}
		if err := e.queue(mail).SendDue(t.Context()); err != nil {
			t.Error("it is tried again at once", err)
		}
		e.clock.Set(e.clock.Now().Add(time.Hour))
	}
	mail.Fails = nil
	e.deliver(mail)
	if len(mail.Sent) != 1 || e.waiting() {
		t.Fatal(mail.Sent, e.waiting())
	}
	if _, err := e.UseLink(t.Context(), tokenOf(t, mail.Sent[0].Text), password, member.Browser{}); err != nil {
		t.Error(err)
	}
}

func TestWhatTheMailServerRefusesOrNobodyGetsIsGivenUp(t *testing.T) {
	unavailable := domain.Fail(domain.Unavailable, "mail_unavailable", "away")
	for claim, c := range map[string]struct {
		fails  error
		before func(e *env)
		code   string
	}{
		"a recipient that does not exist": {domain.Fail(domain.Invalid, "mail_refused", "no such mailbox"), func(*env) {}, "mail_refused"},
		"the last attempt":                {unavailable, func(e *env) { e.clock.Set(e.clock.Now().Add(member.LinkLife - time.Second)) }, "mail_unavailable"},
		"too late":                        {nil, func(e *env) { e.clock.Set(e.clock.Now().Add(member.LinkLife)) }, ""},
		"a user who was disabled": {nil, func(e *env) {
			if _, err := e.users(&portstest.Mailbox{}).Disable(e.Context(), "bert@example.com"); err != nil {
				e.Fatal(err)
			}
		}, ""},
		"who is no member any more": {nil, func(e *env) {
			owner := tenant.Operator("tenant_1")
			if _, err := e.memberships(&portstest.Mailbox{}).Remove(e.Context(), owner, "bert@example.com"); err != nil {
				e.Fatal(err)
			}
		}, ""},
		"a tenant that is gone": {nil, func(e *env) {
			e.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, "tenant_1") })
		}, ""},
	} {
		t.Run(claim, func(t *testing.T) {
			e, mail := newEnv(t), &portstest.Mailbox{IsEnabled: true, Fails: c.fails}
			_, admin := e.tenant("tenant_1")
			e.invite(mail, admin, "bert@example.com")
			c.before(e)
			if err := e.queue(mail).SendDue(t.Context()); codeOf(err) != c.code {
				t.Error(err)
			}
			if len(mail.Sent) > 0 || e.waiting() {
				t.Error(mail.Sent, e.waiting())
			}
		})
	}
}

// stoppedPost takes a mail while the process is told to stop.
type stoppedPost struct {
	*portstest.Mailbox
	stop context.CancelFunc
}

func (p *stoppedPost) Send(ctx context.Context, m outbound.Mail) error {
	p.stop()
	return p.Mailbox.Send(ctx, m)
}

func TestAMailThatWasSentAsTheProcessStopsIsNotSentAgain(t *testing.T) {
	for claim, c := range map[string]struct {
		fails   error
		waiting bool
	}{"it was sent": {nil, false}, "it was not": {context.Canceled, true}} {
		t.Run(claim, func(t *testing.T) {
			e := newEnv(t)
			_, admin := e.tenant("tenant_1")
			mail := &portstest.Mailbox{IsEnabled: true, Fails: c.fails}
			e.invite(mail, admin, "bert@example.com")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			q := members.NewMailQueue(e.work, e.clock, &system.Random{}, members.Letters{Mailer: &stoppedPost{mail, stop}, Public: func() string { return "https://sluice.example/" }})
			if err := q.SendDue(ctx); err != nil || e.waiting() != c.waiting {
				t.Error(err, e.waiting())
			}
		})
	}
}

func TestOneLetterThatFailsHoldsNoOtherBack(t *testing.T) {
	e := newEnv(t)
	_, admin := e.tenant("tenant_1")
	mail := &portstest.Mailbox{IsEnabled: true}
	e.invite(mail, admin, "bert@example.com")
	e.invite(mail, admin, "carl@example.com")
	picky := &pickyPost{Mailbox: mail, refuses: "bert@example.com"}
	q := members.NewMailQueue(e.work, e.clock, &system.Random{}, members.Letters{Mailer: picky, Public: func() string { return "https://sluice.example/" }})
	if err := q.SendDue(t.Context()); codeOf(err) != "mail_unavailable" {
		t.Error(err)
	}
	if len(mail.Sent) != 1 || mail.Sent[0].To != "carl@example.com" {
		t.Error(mail.Sent)
	}
}

// pickyPost takes no mail to one address.
type pickyPost struct {
	*portstest.Mailbox
	refuses string
}

func (p *pickyPost) Send(ctx context.Context, m outbound.Mail) error {
	if m.To == p.refuses {
		return domain.Fail(domain.Unavailable, "mail_unavailable", "away")
	}
	return p.Mailbox.Send(ctx, m)
}

func (e *env) forgotten(mail *portstest.Mailbox) *members.Forgotten {
	return members.NewForgotten(e.Service, e.letters(mail))
}

func TestWhoForgetsAPasswordGetsALinkAndNobodyLearnsWhoHasAnAccount(t *testing.T) {
	e, mail := newEnv(t), &portstest.Mailbox{IsEnabled: true}
	e.enter()
	watched := &watchedWork{UnitOfWork: e.work}
	e.Service = members.New(watched, e.hashes, e.provider, memory.New(e.clock), e.clock, &system.Random{})
	ask := func(address, from string) (units int, err error) {
		watched.units = 0
		err = e.forgotten(mail).Ask(t.Context(), address, member.Browser{Address: from})
		return watched.units, err
	}
	for _, address := range []string{"anna@example.com", "nobody@example.com"} {
		if units, err := ask(address, "192.0.2.1"); err != nil || units != 1 {
			t.Errorf("%s: %v, in %d units", address, err, units)
		}
	}
	if _, err := ask("no address", "192.0.2.1"); err != nil {
		t.Error(err)
	}
	e.deliver(mail)
	if len(mail.Sent) != 1 || mail.Sent[0].To != "anna@example.com" || mail.Sent[0].Subject != "Choose another password" || e.waiting() {
		t.Fatal(mail.Sent)
	}
	if _, err := e.UseLink(t.Context(), tokenOf(t, mail.Sent[0].Text), another, member.Browser{}); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"anna@example.com", "nobody@example.com"} {
		for i := range 2 {
			if _, err := ask(address, "192.0.2.1"); err != nil {
				t.Error(address, i, err)
			}
		}
		_, err := ask(address, "198.51.100.1")
		e.fails(err, "too_many_sign_ins")
	}
	var limited error
	for i := range 30 {
		_, limited = ask(fmt.Sprintf("n%d@example.com", i), "192.0.2.1")
	}
	e.fails(limited, "too_many_sign_ins")
	if units, err := ask("anna@example.com", "203.0.113.1"); codeOf(err) != "too_many_sign_ins" || units != 0 {
		t.Error(err, units)
	}
	if e.forgotten(&portstest.Mailbox{}).CanAsk() {
		t.Error("nobody can be mailed")
	}
}

// watchedWork counts units that write.
type watchedWork struct {
	outbound.UnitOfWork
	units int
}

func (w *watchedWork) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	w.units++
	return w.UnitOfWork.Do(ctx, fn)
}
