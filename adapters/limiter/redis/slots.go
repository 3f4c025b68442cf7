package redis

import (
	"crypto/rand"
	"encoding/base32"
	"strconv"
	"sync"
	"time"
)

// slots is what this process knows about the slots it took in Redis. A token names a
// slot.
type slots struct {
	mu        sync.Mutex
	process   string // prefix of this process's tokens
	lastToken uint64
	held      leases // with the time of the last renewal
	released  leases // with the time of the release; Redis has not confirmed it
}

// leases are times by subject and token.
type leases struct {
	bySubject map[string]map[string]time.Time
	count     int
}

// Bounds of what is kept about released slots. What does not fit is forgotten: its
// lease runs out.
const (
	maxReleased           = 10_000
	maxReleasedPerRequest = 100
)

func newSlots() *slots {
	var id [10]byte
	_, _ = rand.Read(id[:]) // never fails
	return &slots{
		process:  base32.StdEncoding.EncodeToString(id[:]) + "/",
		held:     leases{bySubject: make(map[string]map[string]time.Time)},
		released: leases{bySubject: make(map[string]map[string]time.Time)},
	}
}

// newToken also returns the subject's released tokens that Redis may still hold: a
// request that is sent after a slot was released by this process must find it free.
func (p *slots) newToken(subject string) (token string, released []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastToken++
	for token := range p.released.bySubject[subject] {
		if len(released) == maxReleasedPerRequest {
			break
		}
		released = append(released, token)
	}
	return p.process + strconv.FormatUint(p.lastToken, 36), released
}

// hold notes that a slot was taken; its lease began after since.
func (p *slots) hold(subject, token string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.put(subject, token, since)
}

func (p *slots) release(subject, token string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.remove(subject, token)
	if p.released.count < maxReleased {
		p.released.put(subject, token, now)
	}
}

// confirmReleased notes that Redis no longer holds the slots.
func (p *slots) confirmReleased(subject string, tokens []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, token := range tokens {
		p.released.remove(subject, token)
	}
}

// unconfirmed returns the released slots that Redis may still hold.
func (p *slots) unconfirmed() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.released.tokens()
}

// dueForRenewal returns the held slots that were last renewed before the given time,
// and notes that they are renewed now.
func (p *slots) dueForRenewal(before, now time.Time) map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := make(map[string][]string)
	for subject, tokens := range p.held.bySubject {
		for token, renewedAt := range tokens {
			if renewedAt.Before(before) {
				due[subject] = append(due[subject], token)
				tokens[token] = now
			}
		}
	}
	return due
}

// all returns the slots that Redis may believe this process holds.
func (p *slots) all() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.released.tokens()
	for subject, tokens := range p.held.tokens() {
		all[subject] = append(all[subject], tokens...)
	}
	return all
}

// forgetReleased forgets the slots that were released before the given time: their
// leases have run out.
func (p *slots) forgetReleased(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for subject, tokens := range p.released.bySubject {
		for token, releasedAt := range tokens {
			if releasedAt.Before(before) {
				p.released.remove(subject, token)
			}
		}
	}
}

func (l *leases) put(subject, token string, at time.Time) {
	tokens := l.bySubject[subject]
	if tokens == nil {
		tokens = make(map[string]time.Time)
		l.bySubject[subject] = tokens
	}
	if _, ok := tokens[token]; !ok {
		l.count++
	}
	tokens[token] = at
}

func (l *leases) remove(subject, token string) {
	tokens := l.bySubject[subject]
	if _, ok := tokens[token]; !ok {
		return
	}
	l.count--
	if delete(tokens, token); len(tokens) == 0 {
		delete(l.bySubject, subject)
	}
}

func (l *leases) tokens() map[string][]string {
	all := make(map[string][]string, len(l.bySubject))
	for subject, tokens := range l.bySubject {
		for token := range tokens {
			all[subject] = append(all[subject], token)
		}
	}
	return all
}
