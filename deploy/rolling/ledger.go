package rolling

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Ledger says what happened to every request of a load.
type Ledger struct {
	mu           sync.Mutex
	acknowledged map[string]int // writes by name: how often the gateway said it was done
	failures     []string       // of requests that were not answered with success
	writes       int
	reads        int
	failedWrites int
	failedReads  int
}

func newLedger() *Ledger { return &Ledger{acknowledged: make(map[string]int)} }

func (l *Ledger) wrote(name string, status int, answer []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	if status/100 == 2 && err == nil {
		l.acknowledged[name]++
		return
	}
	l.failedWrites++
	l.fail("creating %q: status %d, %s, %v", name, status, answer, err)
}

func (l *Ledger) read(status int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if status/100 == 2 && err == nil {
		return
	}
	l.failedReads++
	l.fail("reading the registry: status %d, %v", status, err)
}

// shownFailures are kept as examples.
const shownFailures = 10

func (l *Ledger) fail(format string, args ...any) {
	if len(l.failures) < shownFailures {
		l.failures = append(l.failures, fmt.Sprintf(format, args...))
	}
}

// Account compares the ledger with what is in the database.
type Account struct {
	Sent         int // requests
	Acknowledged int // writes that the gateway said were done
	Failed       int // requests that were not answered with success
	Missing      int // writes that were acknowledged and are not there
	Duplicates   int // writes that are there more than once
	Unasked      int // records that no acknowledgement belongs to: what became of a write that failed

	Examples []string // of what went wrong
}

// Err says which requests were not answered with success, and is nil when all were.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failedReads+l.failedWrites == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d requests failed:\n  %s", l.failedReads+l.failedWrites, l.reads+l.writes, strings.Join(l.failures, "\n  "))
}

// Balance compares the ledger with the names of the records that are there, one for
// each record.
func (l *Ledger) Balance(there []string) Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := Account{
		Sent: l.writes + l.reads, Acknowledged: len(l.acknowledged), Failed: l.failedWrites + l.failedReads,
		Examples: slices.Clone(l.failures),
	}
	found := make(map[string]int)
	for _, name := range there {
		found[name]++
	}
	for name := range l.acknowledged {
		if found[name] == 0 {
			a.Missing++
			a.Examples = append(a.Examples, fmt.Sprintf("%q was acknowledged and is not there", name))
		}
	}
	for name, n := range found {
		if n > 1 {
			a.Duplicates += n - 1
			a.Examples = append(a.Examples, fmt.Sprintf("%q is there %d times", name, n))
		}
		if l.acknowledged[name] == 0 {
			a.Unasked++
		}
	}
	return a
}

// Err says what went wrong, and is nil when every request was answered with success
// and every acknowledged write exists exactly once.
func (a Account) Err() error {
	if a.Failed+a.Missing+a.Duplicates+a.Unasked == 0 {
		return nil
	}
	return errors.New(a.String() + "\n  " + strings.Join(a.Examples, "\n  "))
}

// String is the account on one line.
func (a Account) String() string {
	return fmt.Sprintf("%d requests sent, %d writes acknowledged, %d failed, %d missing, %d duplicates, %d unasked",
		a.Sent, a.Acknowledged, a.Failed, a.Missing, a.Duplicates, a.Unasked)
}
