// Package workflow holds what a tenant automates: the workflow, its numbered
// versions (drafts until they are published, immutable afterwards) and the graph
// of nodes and edges that a version is.
package workflow
