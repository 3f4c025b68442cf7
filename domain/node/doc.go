// Package node holds the kinds of step a workflow is made of: node types with
// their semantic versions, the field schemas that say what a node takes, gives
// and is configured with, the check of values against such a schema, the built-in
// node types in every language, the node types a tenant defines, and the registry
// that one tenant sees.
//
// A value is a JSON tree: map[string]any, []any, string, float64 or json.Number,
// bool and nil. Numbers are compared as doubles.
package node
