package run

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain/workflow"
)

// Failure says why a node or a run failed.
type Failure struct {
	Code    string          // lower_snake slug: one of those below, or what the node itself said
	Message string          // for the tenant
	Node    workflow.NodeID // that failed; empty when the run failed as a whole

	// Edge is the edge that the run failed at, and Node the one that it leaves, which has
	// completed; empty for any other failure.
	Edge workflow.EdgeID
}

// The codes of failures that come from the run itself and not from an attempt.
// None of them is tried again.
const (
	CodeTimeout         = "timeout"               // the run took longer than its timeoutMs
	CodeExpired         = "expired"               // nobody resumed the node within its timeoutMs
	CodeTypeUnavailable = "node_type_unavailable" // the registry has no such node type any more
	CodeConfigInvalid   = "config_invalid"        // the node's configuration breaks the schema of its type
	CodeInputInvalid    = "input_invalid"         // what flowed into the node breaks the schema of its type
	CodeExpression      = "expression_failed"     // an expression of the node does not compile or has no value
	CodeEdgeCondition   = "edge_condition_failed" // the condition of an edge does not compile or has no value; the node it leaves has completed
	CodeNotArray        = "source_not_array"      // map, filter, reduce or a loop over something else than an array
	CodePauseNotAllowed = "pause_not_allowed"     // a custom node that cannot pause asked to
	CodeOutputInvalid   = "output_invalid"        // what the node gave is no JSON value, or breaks the schema of its type
	CodeOutputTooLarge  = "output_too_large"      // the output is larger than MaxOutput, or MaxAnswer
	CodeRunTooLarge     = "run_too_large"         // all outputs together are larger than MaxOutputs
	CodeValuesTooLarge  = "values_too_large"      // what the node looks at takes more memory than [Budget.Values]
	CodeExhaustedMemory = "run_exhausted_memory"  // the process that worked on the run ended twice, the second time on this run alone
	CodeCallTooDeep     = "call_too_deep"         // a workflow would be called by a run below [MaxDepth] others
	CodeCallRefused     = "call_refused"          // the workflow that is called cannot be started
	CodeCallFailed      = "call_failed"           // the run of another workflow failed
	CodeCallCancelled   = "call_cancelled"        // the run of another workflow was cancelled
	CodeTooManyItems    = "too_many_items"        // a loop would have more than [MaxItems]
	CodeItemsTooLarge   = "items_too_large"       // the items of a loop are larger than [MaxAnswer] together
	CodeStorageExceeded = "storage_exceeded"      // the tenant keeps more than its quota when a loop begins
	CodeItemFailed      = "item_failed"           // the run of an item failed or was cancelled
	CodeResultTooLarge  = "result_too_large"      // what the items of a loop gave is larger than [MaxOutput] together
	CodeAborted         = "attempt_aborted"       // the gateway could not make the attempt, or stopped before it had ended
	CodeInternal        = "internal_error"        // the gateway cannot keep what the run would do next
)

// Bounds of what nodes give, in bytes of JSON.
const (
	MaxOutput  = 1 << 20  // of one node
	MaxAnswer  = 8 << 20  // of a node that limits its output itself, as httpRequest does with bodies of MaxOutput: a byte takes up to six in JSON
	MaxOutputs = 16 << 20 // of all nodes of a run together; outputs that only pass the input on count once
)

// Bounds of what is kept of a failure and shown in lists, in characters.
const (
	maxCode    = 100
	maxMessage = 2000
)

// storable is the failure with texts that every store can keep.
func (f Failure) storable() Failure {
	f.Code, f.Message = storable(f.Code, maxCode), storable(f.Message, maxMessage)
	return f
}

// storable makes a text from outside one that every store can keep and every reader can
// show: UTF-8 of at most so many characters, the last of which is an ellipsis where more
// were there, without control characters but tabs and line feeds. What cannot stay
// becomes U+FFFD; PostgreSQL keeps no U+0000 in a text.
func storable(text string, most int) string {
	if len(text) <= most && !strings.ContainsFunc(text, unstorable) {
		return text
	}
	var b strings.Builder
	length := utf8.RuneCountInString(text)
	n := 0
	for _, c := range text { // what is no UTF-8 comes as U+FFFD
		if n++; n == most && length > most {
			c = '…'
		}
		if n > most {
			break
		}
		if unstorable(c) {
			c = utf8.RuneError
		}
		b.WriteRune(c)
	}
	return b.String()
}

// unstorable says of a character that it is replaced; what is no UTF-8 counts as U+FFFD.
func unstorable(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) && c != '\t' && c != '\n'
}
