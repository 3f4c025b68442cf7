package worker

import (
	"cmp"
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// fairShareThreshold is how many runs of a tenant a process works on before they are a backlog.
	fairShareThreshold = 4

	// fairnessWindow is how long a backlog yields after other tenants had runs.
	fairnessWindow = time.Second

	// maxYield bounds how long it does after one unit of work.
	maxYield = 20 * time.Millisecond

	// keptValues is how much memory the values of a run may take between two of its steps, in
	// bytes. Beyond that they are read again.
	keptValues = 64 << 10

	// lightSteps is how much a run computes before it waits for a turn to compute for long.
	lightSteps = 100_000

	// maxCountedRuns bounds how many runs that panicked are remembered.
	maxCountedRuns = 10_000
)

// add counts a job in. The caller holds s.mu.
func (s *session) add(j *job) {
	if before := s.jobs[j.lease.Run]; before != nil {
		s.remove(before)
	}
	s.jobs[j.lease.Run] = j
	s.jobsOf[j.lease.Tenant]++
	s.size += j.size
}

// remove counts a job out, unless another one has its run. The caller holds s.mu.
func (s *session) remove(j *job) {
	if s.jobs[j.lease.Run] != j {
		return
	}
	delete(s.jobs, j.lease.Run)
	delete(s.needsRecheck, j.lease.Run)
	s.size -= j.size
	if s.jobsOf[j.lease.Tenant]--; s.jobsOf[j.lease.Tenant] == 0 {
		delete(s.jobsOf, j.lease.Tenant)
	}
}

// exceedsMemory says whether the run is to be given back, to be taken again later: what is worked
// on has grown larger than it may be, and other runs of the tenant are worked on. A run that
// makes calls is kept, since they would be repeated.
func (j *job) exceedsMemory() bool {
	if len(j.attempts) > 0 {
		return false
	}
	j.session.mu.Lock()
	defer j.session.mu.Unlock()
	return j.session.size > j.session.worker.opts.Memory && j.session.jobsOf[j.lease.Tenant] > 1
}

// smallPlan is the weight of a plan that does not count; most runs share theirs.
const smallPlan = 64 << 10

// updateSize notes how large the run has become.
func (j *job) updateSize() {
	if !run.AccountingEnabled {
		return
	}
	size := int64(len(j.run.Payload())) + max(0, j.plan.Weight()-smallPlan)
	for _, n := range j.run.Nodes() {
		size += int64(len(n.Output))
	}
	j.session.mu.Lock()
	defer j.session.mu.Unlock()
	if j.session.jobs[j.lease.Run] == j {
		j.session.size += size - j.size
	}
	j.size = size
}

// capacity is for how many more runs there is room.
type capacity struct {
	places    int
	bytes     int64 // how large they may be together
	perTenant int   // how many of a tenant may be worked on
}

// freeCapacity says for how many more runs there is room. When what is worked on is as large as
// it may be, there still is room for one run of each tenant that has none: one tenant's large
// runs hold up no other. A claim then leases one run, and a large one waits for memory before
// it is read.
func (s *session) freeCapacity() capacity {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := capacity{s.worker.opts.Concurrency - len(s.jobs), s.worker.opts.Memory - s.size, s.worker.opts.PerTenant}
	if c.bytes <= 0 && len(s.jobs) > 0 {
		c.perTenant = 1
	}
	c.bytes = max(c.bytes, 1)
	return c
}

// isBacklog says whether the run is one of many of its tenant, and notes that it is worked on.
func (j *job) isBacklog() bool {
	j.session.mu.Lock()
	backlog := j.session.jobsOf[j.lease.Tenant] > fairShareThreshold
	j.session.mu.Unlock()
	j.session.contention.note(j.lease.Tenant, backlog)
	return backlog
}

// compute does something that takes the processor, with the memory that the run takes then;
// the error is that of waiting for it. Under contention runs of a backlog leave processors to
// others, as those do that may compute for long.
func (j *job) compute(fact run.Fact, fn func()) error {
	memory, do := j.run.Demand(j.budget(), fact), j.session.worker.computing.Do
	if j.growth.reserved.Load() || memory > outbound.BriefMemory || j.session.contention.isActive() && j.isBacklog() {
		do = j.session.worker.computing.DoLong
	}
	var waited error
	err := do(j.ctx, j.lease.Tenant, memory, func() {
		leave, err := j.acquireTurn()
		if waited = err; err != nil {
			return
		}
		defer leave()
		fn()
		if j.run.Memory() > keptValues {
			j.run.Forget()
		}
	})
	return cmp.Or(err, waited)
}

// acquireTurn waits for the other runs that are tried alone, where this one is.
func (j *job) acquireTurn() (leave func(), err error) {
	if !j.isolated {
		return func() {}, nil
	}
	select {
	case j.session.isolationTurn <- struct{}{}:
		return func() { <-j.session.isolationTurn }, nil
	case <-j.ctx.Done():
		return nil, context.Cause(j.ctx)
	}
}
