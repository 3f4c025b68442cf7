package run

import (
	"encoding/json"
	"iter"
	"maps"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Call is what a caller brings to start a run.
type Call struct {
	EventData json.RawMessage // any JSON value, the run's payload; nil when absent, which counts as {}
	Entity    *string         // what the run is about; nil when absent
	DedupeKey *string         // nil when absent

	Malformed []domain.Violation // what could not be read at all

	// OnlyUnknownMembers says that the call has members and knows none of them: its author expects them
	// to be the payload.
	OnlyUnknownMembers bool
}

// The prefixes of identifiers that stand for what a call does not name.
const (
	EntityPrefix    = "ent"
	DedupeKeyPrefix = "ddk"
)

// EntityOr is the entity that the call names, or a new identifier, which newID makes.
func (c Call) EntityOr(newID func(prefix string) string) string {
	if id, ok := c.EntityID(); ok {
		return id
	}
	return newID(EntityPrefix)
}

// DedupeKeyOr is the key under which the runs of the call are started once: its own, else
// its idempotency key, else a new one, which newID makes.
func (c Call) DedupeKeyOr(idempotency domain.IdempotencyKey, newID func(prefix string) string) (key string, isNew bool) {
	switch {
	case c.DedupeKey != nil:
		return *c.DedupeKey, false
	case idempotency.Wanted():
		return idempotency.Key, false
	}
	return newID(DedupeKeyPrefix), true
}

// EventCall names an event, for which every trigger fires that waits for it.
type EventCall struct {
	Call
	Event     string
	SubTenant *tenant.SubTenantID // only triggers of this segment; nil for all
}

// IngestCall brings an event to the runs that wait for it, and, where it resumes none,
// to the triggers.
type IngestCall struct {
	EventCall
	Options ResumeOptions
}

// ResumeOptions narrow which paused runs an event resumes.
type ResumeOptions struct {
	All      bool                 // all that it fits, and not the oldest only
	Runs     []ID                 // only these; none for any
	Versions []workflow.VersionID // only runs of these; none for any
}

// ResumeCall continues a paused run by its token.
type ResumeCall struct {
	Run   ID
	Token string
	Input json.RawMessage // any JSON value; nil when absent

	Malformed []domain.Violation
}

// ManualCall starts a run by hand: without a trigger, at the nodes that have no
// incoming edge, on the workflow's active version unless another published one of it is
// named.
type ManualCall struct {
	Call
	Version workflow.VersionID // empty for the active one
}

// SimulationCall asks what a version would do.
type SimulationCall struct {
	Call
	Trigger trigger.ID // whose node to start at; empty for none
	At      *time.Time // when the virtual clock begins; nil for now
	Answers map[workflow.NodeID][]Answer
	Shown   []ItemPlace // the item that is shown as a run of its own, by the nodes that it is below; empty for none
}

// AnswersOr are the answers of the call, and for nodes without any those that the version's
// sample data give.
func (c SimulationCall) AnswersOr(pinned iter.Seq2[workflow.NodeID, json.RawMessage]) map[workflow.NodeID][]Answer {
	answers := make(map[workflow.NodeID][]Answer)
	for id, output := range pinned {
		answers[id] = []Answer{{Output: output, Pinned: true}}
	}
	maps.Copy(answers, c.Answers)
	return answers
}

// Fired is a run that a trigger started, or had started before with the same dedupe
// key, or why the trigger started none.
type Fired struct {
	Trigger   trigger.ID
	DedupeKey string
	Run       ID
	Skipped   string             // the reason; empty where a run was started
	Problems  []domain.Violation // with [CodePayloadInvalid], what is wrong with the event
}

// Ingested is what became of an event.
type Ingested struct {
	Resumed   []ResumedRun
	Triggered []Fired
	Skipped   []Skip

	// Truncated says that more than [MaxSkipped] runs about the entity wait, so that Skipped
	// speaks of the oldest ones only, and of those that the event was offered to.
	Truncated bool
}

// ResumedRun is a run that an event resumed.
type ResumedRun struct {
	Run     ID
	Entity  string
	Version workflow.VersionID
}

// Skip says why an event did not resume a run or fire a trigger.
type Skip struct {
	Run    ID // empty for a trigger
	Reason string

	// Problems are what is wrong with the event as the answer that the run waits for, with
	// paths below eventData. Then the reason is [SkipWrongEvent].
	Problems []domain.Violation
}

// The reasons of a [Skip].
const (
	SkipExpired     = "expired"
	SkipNotPaused   = "not_paused"
	SkipWrongEvent  = "wrong_event"
	SkipFilteredOut = "filtered_out"
)

// Bounds of what one event does to the runs that wait, all in one unit of work.
const (
	MaxOffered      = 1000      // runs that it is offered to
	MaxOfferedBytes = 256 << 20 // of what those have been given and have computed
	MaxSkipped      = 1000      // runs that are looked at to say why it did not resume them
)
