package redis

import (
	"crypto/rand"
	"encoding/base32"
	"strconv"
	"sync"
	"time"
)

// places is what this process knows of the places it took in Redis.
type places struct {
	mu      sync.Mutex
	process string // begins the names of this process's places
	last    uint64 // number of the newest name
	held    leases // each with the time at which its lease was begun or renewed
	left    leases // given back at that time, and Redis has not confirmed it
}

// leases are instants of this process by a subject's name and the name of one of its
// places.
type leases struct {
	of    map[string]map[string]time.Time
	count int
}

// Bounds of what is kept about places that were left. What does not fit is forgotten:
// its lease runs out.
const (
	maxLeft = 10_000 // of the process
	maxSent = 100    // beside one request of the subject
)

func newPlaces() *places {
	var id [10]byte
	_, _ = rand.Read(id[:]) // never fails
	return &places{
		process: base32.StdEncoding.EncodeToString(id[:]) + "/",
		held:    leases{of: make(map[string]map[string]time.Time)},
		left:    leases{of: make(map[string]map[string]time.Time)},
	}
}

// want names a new place, and the subject's places that Redis may not know to be free:
// a request that is sent after a place was left, by this process, must find it free.
func (p *places) want(subject string) (token string, left []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	for token := range p.left.of[subject] {
		if len(left) == maxSent {
			break
		}
		left = append(left, token)
	}
	return p.process + strconv.FormatUint(p.last, 36), left
}

// hold notes that a place was taken; its lease began after since.
func (p *places) hold(subject, token string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.put(subject, token, since)
}

// leave notes that a place is no longer needed.
func (p *places) leave(subject, token string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.remove(subject, token)
	if p.left.count < maxLeft {
		p.left.put(subject, token, now)
	}
}

// heard notes that Redis knows the subject's places to be free.
func (p *places) heard(subject string, tokens []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, token := range tokens {
		p.left.remove(subject, token)
	}
}

// toFree returns the places that Redis may not know to be free.
func (p *places) toFree() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left.names()
}

// toRenew returns the held places whose leases were last renewed before the given
// time, and notes that they are being renewed now.
func (p *places) toRenew(before, now time.Time) map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := make(map[string][]string)
	for subject, tokens := range p.held.of {
		for token, since := range tokens {
			if since.Before(before) {
				due[subject] = append(due[subject], token)
				tokens[token] = now
			}
		}
	}
	return due
}

// all returns the places that Redis may believe to be taken by this process.
func (p *places) all() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.left.names()
	for subject, tokens := range p.held.names() {
		all[subject] = append(all[subject], tokens...)
	}
	return all
}

// expire forgets the places that were left before the given time: their leases have
// run out.
func (p *places) expire(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for subject, tokens := range p.left.of {
		for token, since := range tokens {
			if since.Before(before) {
				p.left.remove(subject, token)
			}
		}
	}
}

func (l *leases) put(subject, token string, at time.Time) {
	tokens := l.of[subject]
	if tokens == nil {
		tokens = make(map[string]time.Time)
		l.of[subject] = tokens
	}
	if _, ok := tokens[token]; !ok {
		l.count++
	}
	tokens[token] = at
}

func (l *leases) remove(subject, token string) {
	tokens := l.of[subject]
	if _, ok := tokens[token]; !ok {
		return
	}
	l.count--
	if delete(tokens, token); len(tokens) == 0 {
		delete(l.of, subject)
	}
}

func (l *leases) names() map[string][]string {
	all := make(map[string][]string, len(l.of))
	for subject, tokens := range l.of {
		for token := range tokens {
			all[subject] = append(all[subject], token)
		}
	}
	return all
}
