// Package passwords is the driven adapter that hashes passwords, by Argon2id (RFC 9106) with what OWASP asks for at
// least. The memory is reserved first, so that many who sign in at once wait for one another instead of taking the
// gateway's memory.
package passwords

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What new hashes are made with. The memory is that of a reservation.
const (
	memory  = outbound.PasswordMemory >> 10 // KiB
	passes  = 2
	threads = 1

	saltLength = 16 // bytes
	keyLength  = 32
)

// MaxWait is how long somebody waits for the memory.
const MaxWait = 10 * time.Second

// Passwords implements outbound.Passwords. It is safe for concurrent use.
type Passwords struct {
	budget  outbound.Budget
	maxWait time.Duration
	nobody  phc // what is compared with where there is no hash
}

var _ outbound.Passwords = (*Passwords)(nil)

// New returns one that reserves the memory of each hash from a budget.
func New(budget outbound.Budget) *Passwords {
	return &Passwords{budget: budget, maxWait: MaxWait, nobody: newPHC()}
}

// Waiting has people wait for the memory for another time.
func (p *Passwords) Waiting(most time.Duration) *Passwords {
	p.maxWait = most
	return p
}

// Hash hashes a password with a salt of its own.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	made := newPHC()
	key, err := p.derive(ctx, made, password)
	if err != nil {
		return "", err
	}
	made.key = key
	return made.String(), nil
}

// Verify derives the key anew, whether there is a hash to compare it with or not.
func (p *Passwords) Verify(ctx context.Context, hash, password string) (bool, error) {
	kept := p.nobody
	if hash != "" {
		var err error
		if kept, err = parse(hash); err != nil {
			return false, err
		}
	}
	key, err := p.derive(ctx, kept, password)
	if err != nil {
		return false, err
	}
	same := subtle.ConstantTimeCompare(key, kept.key) == 1
	return same && hash != "", nil
}

// derive waits for the memory, and computes. What has begun is not stopped: it takes a moment.
func (p *Passwords) derive(ctx context.Context, with phc, password string) ([]byte, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, p.maxWait, errBusy)
	defer cancel()
	if err := p.budget.Reserve(waiting, "", outbound.PasswordMemory); errors.Is(err, errBusy) {
		busy := domain.Fail(domain.Unavailable, "sign_in_busy", "Too many people sign in at the moment. Try again in a few seconds.").Because(err)
		busy.RetryAfter = retryAfter
		return nil, busy
	} else if err != nil {
		return nil, fmt.Errorf("passwords: the wait for memory was stopped: %w", err)
	}
	defer p.budget.Release("", outbound.PasswordMemory)
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), with.salt, with.passes, with.memory, threads, uint32(len(with.key))), nil
}

// retryAfter is about how long it takes those who wait to get through.
const retryAfter = 5 * time.Second

var errBusy = errors.New("the memory for passwords is in use")

// phc is a hash with what it was made with, as the PHC string format writes it.
type phc struct {
	memory, passes uint32
	salt, key      []byte
}

func newPHC() phc {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return phc{memory: memory, passes: passes, salt: salt, key: make([]byte, keyLength)}
}

// String writes it.
func (h phc) String() string {
	coding := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, threads, coding.EncodeToString(h.salt), coding.EncodeToString(h.key))
}
