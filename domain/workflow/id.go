package workflow

// ID identifies a workflow: "wf_" and 26 base32 characters.
type ID string

// VersionID identifies a version of a workflow: "wfv_" and 26 base32 characters.
type VersionID string

// EdgeID identifies an edge within a version: "edge_" and 26 base32 characters.
type EdgeID string

// NodeID names a node within a version. The client chooses it, 1 to
// [MaxNodeID] characters.
type NodeID string

// The prefixes of this package's identifiers.
const (
	IDPrefix        = "wf"
	VersionIDPrefix = "wfv"
	EdgeIDPrefix    = "edge"
)
