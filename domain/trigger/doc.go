// Package trigger holds what starts a workflow: the trigger with its
// configuration, the schedule that computes when it is due, and the ledger's entry
// for each instant it was due.
package trigger
