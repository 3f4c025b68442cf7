package runs

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/run"
)

const (
	// few is how many runs of a tenant a process works on before they are a crowd.
	few = 4

	// lately is how long a crowd gives way after others were there.
	lately = time.Second

	// longestWay bounds how long it does after one unit of work.
	longestWay = 20 * time.Millisecond

	// mostDefects bounds how many runs that panicked are remembered.
	mostDefects = 10_000
)

// hold counts a job in. The caller holds s.mu.
func (s *shift) hold(j *job) {
	if before := s.held[j.lease.Run]; before != nil {
		s.let(before)
	}
	s.held[j.lease.Run] = j
	s.shares[j.lease.Tenant]++
	s.size += j.size
}

// let counts a job out, unless another one has its run. The caller holds s.mu.
func (s *shift) let(j *job) {
	if s.held[j.lease.Run] != j {
		return
	}
	delete(s.held, j.lease.Run)
	delete(s.doubted, j.lease.Run)
	s.size -= j.size
	if s.shares[j.lease.Tenant]--; s.shares[j.lease.Tenant] == 0 {
		delete(s.shares, j.lease.Tenant)
	}
}

// weigh notes how large the run has become.
func (j *job) weigh() {
	size := int64(len(j.run.Payload()))
	for _, n := range j.run.Nodes() {
		size += int64(len(n.Output))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held[j.lease.Run] == j {
		j.shift.size += size - j.size
	}
	j.size = size
}

// room is how many more runs can be worked on, and how large they may be.
func (s *shift) room() (places int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	places, bytes = s.opts.Concurrency-len(s.held), s.opts.Memory-s.size
	if bytes <= 0 && len(s.held) > 0 {
		return 0, 0
	}
	return places, max(bytes, 1)
}

// crowds says whether the run is one of many of its tenant.
func (j *job) crowds() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shares[j.lease.Tenant] > few
}

// A crowd and others are beside each other when steps of both were recorded a moment ago.
type beside struct {
	began         time.Time
	others, crowd atomic.Int64 // when the last ones were, since it began
}

func (b *beside) note(last *atomic.Int64) { last.Store(int64(time.Since(b.began))) }

func (b *beside) lately(last *atomic.Int64) bool {
	at := last.Load()
	return at != 0 && time.Since(b.began)-time.Duration(at) < lately
}

func (b *beside) both() bool { return b.lately(&b.others) && b.lately(&b.crowd) }

// othersRecorded and crowdRecorded note that steps were recorded. A crowd leaves the
// database and the processors to others for half as long as it took them, while there are
// others. Alone it goes on at once.
func (s *shift) othersRecorded(time.Duration) { s.beside.note(&s.beside.others) }

func (s *shift) crowdRecorded(took time.Duration) {
	s.beside.note(&s.beside.crowd)
	if s.beside.both() {
		rest(s.units, min(took/2, longestWay))
	}
}

// compute does something that takes the processor. Of a crowd only some runs do so at the
// same time while there are others, who find a processor at once then.
func (j *job) compute(fn func()) {
	if j.beside.both() && j.crowds() {
		j.computing <- struct{}{}
		defer func() { <-j.computing }()
	}
	fn()
}

// defects count how often runs have panicked.
type defects struct {
	mu    sync.Mutex
	times map[run.ID]int
}

// tooMany counts a panic, and says whether it was the last that is put up with.
func (d *defects) tooMany(id run.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.times) >= mostDefects {
		clear(d.times) // they begin anew; so many are not the runs' own
	}
	d.times[id]++
	if d.times[id] < mostRefused {
		return false
	}
	delete(d.times, id)
	return true
}
