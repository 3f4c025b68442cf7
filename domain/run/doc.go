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
// A node is settled by what it did, and its edges are decided after that. A condition on
// an edge that cannot be computed is a failure of the edge: the node stays completed, its
// output is recorded and never asked for again, and its onError edges, which are for
// nodes that failed, are not taken. The run fails there and then, as where a node fails
// and no edge takes that: what runs or waits beside is cancelled and begins anew with a
// retry, what was skipped before stays skipped, and nothing beyond the node is settled,
// so no path dies of it. Of one node all edges are decided together, by one time, so that
// a retry never follows what it decided earlier by another one; every edge that stands in
// the way is in the history, up to a few, and the run's failure is the first one's. Since
// the run ends with it, no two nodes have undecided edges. A retry decides these first and
// begins nothing else if they fail it again. As any run that has ended, it has no
// deadline and cannot be cancelled.
//
// A condition or a switch whose own expression cannot be computed has chosen nothing, and
// so has failed itself; it did nothing outside that could be repeated. A condition on an
// onError edge that cannot be computed takes nothing: its node has failed in any case,
// and that failure is the run's. What is merely not there is no failure: a member that the
// output does not have flows on as null, and conditions hold as JavaScript says, whatever
// the type of their value.
//
// What a node sees depends on the nodes that lead to it and on nothing else, so
// the order in which parallel nodes finish changes no result.
//
// A value is a JSON tree as in package node. What is kept and sent is its text
// ([encoding/json.RawMessage]), with the members of objects that the run made
// sorted by name.
package run
