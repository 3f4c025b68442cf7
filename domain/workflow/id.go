package workflow

// ID identifies a workflow: "wf_" and 26 base32 characters.
type ID string

// VersionID identifies a version of a workflow: "wfv_" and 26 base32 characters.
type VersionID string
