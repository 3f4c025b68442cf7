// Package run holds one execution of a published workflow version: the run, what
// it has done so far, and the rules by which it goes on (execution rules, "The
// graph", "Nodes" and "Failure").
//
// The heart is [Run.Advance]: a deterministic state machine. It takes what
// happened, goes as far as it can without anything outside (conditions, switches
// and transforms are computed on the spot), and says what is to be done next:
// attempts to make, the time to wake up at, history to append, happenings to tell.
// It reads no clock and no dice. Events carry their time, the jitter of a backoff
// is a hash, and the same events give the same bytes, whether or not the run was
// dropped from memory and read again between them.
//
// What a node sees depends on the nodes that lead to it and on nothing else, so
// the order in which parallel nodes finish changes no result.
//
// A value is a JSON tree as in package node. What is kept and sent is its text
// ([encoding/json.RawMessage]), with the members of objects that the run made
// sorted by name.
package run
