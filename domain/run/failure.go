package run

import "github.com/sluicehq/sluice/domain/workflow"

// Failure says why a node or a run failed.
type Failure struct {
	Code    string          // lower_snake slug: one of those below, or what the node itself said
	Message string          // for the tenant
	Node    workflow.NodeID // that failed; empty when the run failed as a whole
}

// The codes of failures that come from the run itself and not from an attempt.
// None of them is tried again.
const (
	CodeTimeout         = "timeout"               // the run took longer than its timeoutMs
	CodeExpired         = "expired"               // nobody resumed the node within its timeoutMs
	CodeTypeUnavailable = "node_type_unavailable" // the registry has no such node type any more
	CodeConfigInvalid   = "config_invalid"        // the node's configuration breaks the schema of its type
	CodeInputInvalid    = "input_invalid"         // what flowed into the node breaks the schema of its type
	CodeExpression      = "expression_failed"     // an expression does not compile or has no value
	CodeNotArray        = "source_not_array"      // map, filter or reduce of something else than an array
	CodePauseNotAllowed = "pause_not_allowed"     // a custom node that cannot pause asked to
	CodeOutputInvalid   = "output_invalid"        // what the node gave is no JSON value, or breaks the schema of its type
	CodeOutputTooLarge  = "output_too_large"      // the output is larger than MaxOutput
	CodeRunTooLarge     = "run_too_large"         // all outputs together are larger than MaxOutputs
)

// Bounds of what nodes give, in bytes of JSON.
const (
	MaxOutput  = 1 << 20  // of one node
	MaxOutputs = 16 << 20 // of all nodes of a run together; outputs that only pass the input on count once
)
