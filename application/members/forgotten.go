package members

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How often a mail may be asked for that sets another password, within an hour.
const (
	resetsOfAddress = 20 // from one address, or from one network of IPv6
	resetsOfAccount = 3
	resetsWithin    = time.Hour
)

// Forgotten implements inbound.ForgottenPasswords.
type Forgotten struct {
	*Service
	letters Letters
}

var _ inbound.ForgottenPasswords = (*Forgotten)(nil)

// NewForgotten returns the service.
func NewForgotten(s *Service, l Letters) *Forgotten { return &Forgotten{s, l} }

// CanAsk says whether there is a mail server.
func (f *Forgotten) CanAsk() bool { return f.letters.Mailer.Enabled() }

// Ask has a mail sent to an address, if somebody has it. Nobody looks that up here, so that no answer and no clock can tell.
func (f *Forgotten) Ask(ctx context.Context, email string, from member.Browser) error {
	address, ok := member.ParseEmail(email)
	if err := f.limit(ctx, "reset-address", network(from.Address), resetsOfAddress, resetsWithin); err != nil || !ok || !f.CanAsk() {
		return err
	}
	if err := f.limit(ctx, "reset-account", string(address), resetsOfAccount, resetsWithin); err != nil {
		return err
	}
	now := f.clock.Now()
	return f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return f.letters.queue(ctx, st, f.random, address, member.Reset, "", now)
	})
}
