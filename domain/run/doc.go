// Package run holds one execution of a published workflow version: the run, what
// it has done so far, and the rules by which it continues.
//
// The heart is [Run.Advance]: a deterministic state machine. It takes what
// happened, goes as far as it can without anything outside (conditions, switches
// and transforms are computed on the spot), and says what is to be done next:
// attempts to make, the time to wake up at, history to append, events to send. It reads
// no clock and no randomness. Events carry their time, the jitter of a backoff is a hash,
// and the same events give the same bytes, whether or not the run was dropped from memory
// and read again between them.
//
// # Conditions on edges
//
// A node is settled by what it did; its edges are decided after that, all together and by
// one time. A condition on an edge that cannot be computed fails the run there and then.
// The node stays completed, so its effect is not repeated, and its onError edges, which
// are for nodes that failed, are not taken. Nothing beyond the node is settled. A retry
// decides these edges first, and begins nothing else if they fail again. The history
// names every such edge, up to a few; the run's failure is the first one's.
//
// A condition or a switch node whose own expression cannot be computed has chosen
// nothing, and so has failed itself. A condition on an onError edge that cannot be
// computed takes nothing, and the node's failure is the run's. A member that an output
// does not have is no failure: it is null.
//
// # Data
//
// What a node sees depends on the nodes that lead to it and on nothing else, so
// the order in which parallel nodes finish changes no result.
//
// A value is a JSON tree as in package node. What is kept and sent is its text
// ([encoding/json.RawMessage]), with the members of objects that the run made
// sorted by name.
package run
