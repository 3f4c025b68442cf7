// Package workflowfile keeps workflows as files that people read, compare and keep under version control: one file of JSON for
// each, with its graph and its triggers. Names stand where the gateway has identifiers, and secrets are left out.
//
// [ReadFolder] reads files and says everything that is wrong with them, [Gateway.Read] gives the same form of what a gateway
// has, and [Gateway.Plan] lists the steps that make the gateway have what the files say.
package workflowfile
