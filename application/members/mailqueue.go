package members

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// mailPause is how long to wait before looking for letters again.
	mailPause = 2 * time.Second

	// mailLease is for how long a letter is kept from other processes: longer than a mail server may take.
	mailLease = 2 * time.Minute
)

// MailQueue implements inbound.MailQueue.
type MailQueue struct {
	work    outbound.UnitOfWork
	clock   outbound.Clock
	random  outbound.Random
	letters Letters
	panics  atomic.Int64
}

var _ inbound.MailQueue = (*MailQueue)(nil)

// NewMailQueue returns the service.
func NewMailQueue(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random, l Letters) *MailQueue {
	return &MailQueue{work: work, clock: clock, random: random, letters: l}
}

// Panics is how often it panicked.
func (q *MailQueue) Panics() int64 { return q.panics.Load() }

// Run sends letters until ctx ends; nothing where there is no mail server.
func (q *MailQueue) Run(ctx context.Context, failed func(error)) {
	for q.letters.Mailer.Enabled() && outbound.Sleep(ctx, mailPause) {
		err := inbound.RecoverPanic("send mail", func() error { return q.SendDue(ctx) })
		if inbound.IsPanic(err) {
			q.panics.Add(1)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// SendDue sends the letters that are due, and goes on behind one that fails.
func (q *MailQueue) SendDue(ctx context.Context) (err error) {
	for ctx.Err() == nil {
		more, failed := q.sendNext(ctx)
		if err = errors.Join(err, failed); !more {
			break
		}
	}
	return err
}

// ready is a letter with its user, and the link that was made for it.
type ready struct {
	member.Letter
	user     *member.User // nil where nobody gets it
	inviting string
	token    member.Token
}

// sendNext sends a letter. Where it fails, it is tried again later; more says whether there may be others.
func (q *MailQueue) sendNext(ctx context.Context) (more bool, err error) {
	next, ok, err := q.claim(ctx)
	if err != nil || !ok || next.user == nil {
		return ok, err
	}
	err = q.letters.send(ctx, next.user, next.Purpose, next.token, next.inviting)
	if ctx.Err() != nil && err != nil {
		return false, nil // it is tried again when its lease ends
	}
	ctx = context.WithoutCancel(ctx) // what was sent is not to be sent again
	refused := domain.KindOf(err) == domain.Invalid
	late := q.clock.Now().Add(next.Pause()).After(next.EndsAt)
	kept := q.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err == nil || refused || late {
			return st.Members.Letters.Delete(ctx, next.Letter)
		}
		if failed := st.Members.Links.Take(ctx, next.token.Hash()); failed != nil && domain.KindOf(failed) != domain.NotFound {
			return failed
		}
		return st.Members.Letters.Postpone(ctx, next.Letter, q.clock.Now().Add(next.Pause()))
	})
	switch {
	case err == nil:
	case refused || late:
		err = fmt.Errorf("a mail to user %s is given up after %d attempts: %w", next.user.ID(), next.Attempts, err)
	default:
		err = fmt.Errorf("a mail to user %s, attempt %d: %w", next.user.ID(), next.Attempts, err)
	}
	return true, errors.Join(err, kept)
}

// claim takes the next letter. Of one that nobody gets any more nothing is left.
func (q *MailQueue) claim(ctx context.Context) (next ready, ok bool, err error) {
	token := newToken(q.random)
	err = q.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		now := q.clock.Now()
		next = ready{inviting: installation, token: token}
		if next.Letter, ok, err = st.Members.Letters.Claim(ctx, now, now.Add(mailLease)); err != nil || !ok {
			return err
		}
		u, err := st.Members.Users.FindByEmail(ctx, next.To)
		if err == nil && next.Inviting != "" {
			of, failed := st.Members.OfUsers.Find(ctx, u.ID(), next.Inviting) // who is no member any more is not invited
			if err = failed; err == nil {
				next.inviting = of.Tenant.Name()
			}
		}
		if errors.Is(err, domain.NotFound) || err == nil && (!next.IsFor(u) || !now.Before(next.EndsAt)) {
			return st.Members.Letters.Delete(ctx, next.Letter)
		}
		if err != nil {
			return err
		}
		next.user = u
		return st.Members.Links.Insert(ctx, member.NewLink(u.ID(), next.Purpose, token, now))
	})
	return next, ok, err
}
