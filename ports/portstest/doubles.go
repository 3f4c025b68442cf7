package portstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// CountedRandom makes identifiers and keys that are the same in every run of a test.
type CountedRandom struct{ ids, fills atomic.Int64 }

var _ outbound.Random = (*CountedRandom)(nil)

// CountedFrom makes others than one that counts from the beginning, unless that makes as many as n.
func CountedFrom(n int64) *CountedRandom {
	r := &CountedRandom{}
	r.ids.Store(n)
	r.fills.Store(n)
	return r
}

// ID counts.
func (r *CountedRandom) ID(prefix string) string { return fmt.Sprintf("%s_%026d", prefix, r.Next()) }

// Next counts an identifier that is written otherwise.
func (r *CountedRandom) Next() int64 { return r.ids.Add(1) }

// Fill fills p with a digest of a counter.
func (r *CountedRandom) Fill(p []byte) {
	digest := sha256.Sum256([]byte(fmt.Sprint(r.fills.Add(1))))
	copy(p, digest[:])
}

// PlainPasswords hashes nothing, and counts what it is asked to verify.
type PlainPasswords struct{ verified atomic.Int64 }

var _ outbound.Passwords = (*PlainPasswords)(nil)

// Hash marks the password.
func (p *PlainPasswords) Hash(_ context.Context, password string) (string, error) {
	return "h:" + password, nil
}

// Verify compares it with what was marked.
func (p *PlainPasswords) Verify(_ context.Context, hash, password string) (bool, error) {
	p.verified.Add(1)
	return hash == "h:"+password, nil
}

// Verified is how many it was asked to verify.
func (p *PlainPasswords) Verified() int { return int(p.verified.Load()) }

// Mailbox keeps what is mailed, unless it is told to fail.
type Mailbox struct {
	IsEnabled bool
	Fails     error
	Sent      []outbound.Mail
}

var _ outbound.Mailer = (*Mailbox)(nil)

// Enabled is as the test says.
func (m *Mailbox) Enabled() bool { return m.IsEnabled }

// Send keeps a message.
func (m *Mailbox) Send(_ context.Context, one outbound.Mail) error {
	if m.Fails == nil {
		m.Sent = append(m.Sent, one)
	}
	return m.Fails
}

// RecordingSignals keeps which runs were reported, and passes them on where there are signals.
type RecordingSignals struct {
	outbound.RunSignals
	mu  sync.Mutex
	ids []run.ID
}

// Notify notes the runs and passes the signal on.
func (s *RecordingSignals) Notify(changed ...run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, changed...)
	if s.RunSignals != nil {
		s.RunSignals.Notify(changed...)
	}
}

// All returns what was reported, as far as it was not taken by Since.
func (s *RecordingSignals) All() []run.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids)
}

// Since returns what was reported since it was asked last.
func (s *RecordingSignals) Since() (ids []run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, s.ids = s.ids, nil
	return ids
}

// ErrDied is the cause of what a unit of [DyingUnits] fails with.
var ErrDied = errors.New("the process died")

// DyingUnits are units of work whose process dies now and then.
type DyingUnits struct {
	outbound.UnitOfWork
	Before, After func(unit int64) bool // whether it dies before, or after, the commit of a unit, counted from 1
	units         atomic.Int64
}

// Do runs a unit, and has it fail where its process dies.
func (s *DyingUnits) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	n := s.units.Add(1)
	died := func() error { return domain.Fail(domain.Unavailable, "died", "The process died.").Because(ErrDied) }
	err := s.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := fn(ctx, st); err != nil || !s.Before(n) {
			return err
		}
		return died()
	})
	if err == nil && s.After(n) {
		return died()
	}
	return err
}

// SafeBuffer is a buffer for many goroutines.
type SafeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (s *SafeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String is what was written so far.
func (s *SafeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// FailedTest is a test that notes whether it failed, and does not fail.
type FailedTest struct {
	testing.TB
	failed bool
}

// Errorf notes it.
func (f *FailedTest) Errorf(string, ...any) { f.failed = true }

// Failed says whether it failed.
func (f *FailedTest) Failed() bool { return f.failed }
