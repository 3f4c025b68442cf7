package run

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Await is what a node waits for and an event can bring.
type Await struct {
	Event string     // the event that ends it; empty where any event does, as an answer
	Until *time.Time // when it expires; nil for never
}

// Awaits lists what the nodes of the run wait for that an event can bring, in the order
// of the nodes. What waits for a time only is not in it.
func (r *Run) Awaits() []Await {
	var all []Await
	for i := range r.state.Nodes {
		if n := &r.state.Nodes[i]; n.Status == NodeWaiting && n.Pause.Kind.ByOthers() {
			all = append(all, Await{Event: n.Pause.Event, Until: n.Pause.Until})
		}
	}
	return all
}

// Awaiting is what says whether an event can resume a run, without what its nodes did,
// which can be megabytes.
type Awaiting struct {
	ID        ID
	SubTenant tenant.SubTenantID // empty for none
	Source
	CreatedAt time.Time
	Awaits    []Await // none where it waits for a time only
}

// Skip says why an event that arrives then does not resume the run, one of the reasons of
// a [Skip], and nothing where it can. What the run itself makes of the event may differ
// when something else falls due in it first, or when an answer does not fit.
func (a Awaiting) Skip(event string, at time.Time) (reason string) {
	if len(a.Awaits) == 0 {
		return SkipNotPaused
	}
	reason = SkipWrongEvent
	for _, one := range a.Awaits {
		switch {
		case one.Event != event && one.Event != "":
		case one.Until != nil && !at.Before(*one.Until):
			reason = SkipExpired
		default:
			return ""
		}
	}
	return reason
}

// Matches says whether the event may resume a run, by its segment and the options.
func (c IngestCall) Matches(a Awaiting) bool {
	return (c.SubTenant == nil || *c.SubTenant == a.SubTenant) &&
		(len(c.Options.Runs) == 0 || slices.Contains(c.Options.Runs, a.ID)) &&
		(len(c.Options.Versions) == 0 || slices.Contains(c.Options.Versions, a.Version))
}

// OnlyRun returns the run that the options name, where that is a single one.
func (c IngestCall) OnlyRun() (id ID, only bool) {
	for i, named := range c.Options.Runs {
		if i > 0 && named != id {
			return "", false
		}
		id = named
	}
	return id, id != ""
}

// Absent lists the runs that the options name and that are not among those that wait,
// each once.
func (c IngestCall) Absent(waiting []Awaiting) (absent []ID) {
	seen := make(map[ID]bool, len(waiting)+len(c.Options.Runs))
	for _, a := range waiting {
		seen[a.ID] = true
	}
	for _, id := range c.Options.Runs {
		if !seen[id] {
			seen[id] = true
			absent = append(absent, id)
		}
	}
	return absent
}

// SkipAbsent says why an event does not resume runs that do not wait for one about its
// entity. Idle runs that match are not paused. All others are filtered out, for the same
// reason whether they are about another entity, of another tenant, or do not exist, so
// that the answer reveals nothing.
func (c IngestCall) SkipAbsent(absent []ID, idle []Awaiting) (skipped []Skip) {
	reasons := make(map[ID]string, len(idle))
	for _, a := range idle {
		if c.Matches(a) {
			reasons[a.ID] = SkipNotPaused
		}
	}
	for _, id := range absent {
		reason, known := reasons[id]
		if !known {
			reason = SkipFilteredOut
		}
		skipped = append(skipped, Skip{Run: id, Reason: reason})
	}
	return skipped
}

// After says whether the run comes after another one, by creation and then by id.
func (a Awaiting) After(other Awaiting) bool {
	if !a.CreatedAt.Equal(other.CreatedAt) {
		return a.CreatedAt.After(other.CreatedAt)
	}
	return a.ID > other.ID
}

// Size is about how many bytes the run takes with all that it has been given and has
// computed.
func (r *Run) Size() int {
	return len(r.state.Payload) + len(r.state.Item) + len(r.state.Outer) + r.state.size()
}

// SizeSince is about how many bytes a store writes that has the run as it was at that Seq.
func (r *Run) SizeSince(seq int64) int {
	total := r.state.size()
	for n := range r.state.LargeOutputs() {
		if n.OutputSeq > seq {
			total += len(n.Output)
		}
	}
	return total
}
