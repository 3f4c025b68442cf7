package hooks

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/hook"
)

// Reasons for which nothing is received, besides those of verifying.
const (
	reasonUnknown = "unknown_address"
	reasonAddress = "client_not_allowed"
	reasonLimit   = "limit"
)

// Reasons lists every reason for which a delivery is refused.
func Reasons() []string {
	all := []string{reasonUnknown, reasonAddress, reasonLimit}
	for _, r := range []hook.Reason{
		hook.SignatureMissing, hook.SignatureRepeated, hook.SignatureMalformed, hook.SignatureMismatch, hook.TimestampMissing, hook.TimestampMalformed,
		hook.TimestampTooOld, hook.TimestampInFuture, hook.SignedPartMissing, hook.BodyHashMismatch, hook.SecretMissing, hook.VerifyTokenMismatch,
	} {
		all = append(all, string(r))
	}
	return all
}

// Figures count deliveries, and know which wait for their answer.
type Figures struct {
	verdicts map[hook.Verdict]*atomic.Int64
	reasons  map[string]*atomic.Int64

	mu      sync.Mutex
	waiting list.List // of times, the oldest first
}

func newFigures() *Figures {
	f := &Figures{verdicts: make(map[hook.Verdict]*atomic.Int64), reasons: make(map[string]*atomic.Int64)}
	for _, v := range hook.Verdicts() {
		f.verdicts[v] = new(atomic.Int64)
	}
	for _, r := range Reasons() {
		f.reasons[r] = new(atomic.Int64)
	}
	return f
}

func (f *Figures) became(v hook.Verdict) { f.verdicts[v].Add(1) }

func (f *Figures) refused(reason string) {
	if n := f.reasons[reason]; n != nil {
		n.Add(1)
	}
}

// Became is how many deliveries came to a verdict.
func (f *Figures) Became(v hook.Verdict) int64 { return f.verdicts[v].Load() }

// Refused is how many deliveries were refused for a reason.
func (f *Figures) Refused(reason string) int64 { return f.reasons[reason].Load() }

// enter notes that a delivery waits, until leave is called once or more often.
func (f *Figures) enter() (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	element := f.waiting.PushBack(time.Now())
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waiting.Remove(element)
	}
}

// Oldest is how long the oldest delivery has waited for its answer; 0 for none.
func (f *Figures) Oldest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first := f.waiting.Front(); first != nil {
		began, _ := first.Value.(time.Time)
		return time.Since(began)
	}
	return 0
}
