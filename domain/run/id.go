package run

import "github.com/sluicehq/sluice/domain/workflow"

// ID identifies a run: "run_" and 26 base32 characters.
type ID string

// IDPrefix is what an [ID] begins with, without the underscore.
const IDPrefix = "run"

// itemDigits is how many characters at the end of the identifier of an item's run say which item it is.
const itemDigits = 3

// Item is the run of the item at an index below [MaxItems], where id is that of any item
// of the same loop. Such identifiers sort like their items.
func (id ID) Item(index int) ID {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	text := []byte(id)
	for i := range itemDigits {
		text[len(text)-1-i] = digits[index%len(digits)]
		index /= len(digits)
	}
	return ID(text)
}

// Cause says what started a run.
type Cause string

// What started a run.
const (
	CauseWebhook  Cause = "webhook"  // a call to the trigger
	CauseByEvent  Cause = "by_event" // a call that names an event
	CauseIngest   Cause = "ingest"   // an event that resumed no run
	CauseSchedule Cause = "schedule" // the trigger's schedule
	CauseManual   Cause = "manual"   // somebody, by hand
	CauseCall     Cause = "call"     // a node of another run
	CauseRerun    Cause = "rerun"    // somebody who repeats a run
	CauseItem     Cause = "item"     // a node of another run, which runs its body for each item
)

// SnapshotID names what a draft was when a run of it was started.
type SnapshotID string

// Source is what a run executes.
type Source struct {
	Version  workflow.VersionID
	Snapshot SnapshotID      // empty for the version as it is
	Loop     workflow.NodeID // whose body it is, of the run of an item; empty for the nodes without a parent
}
