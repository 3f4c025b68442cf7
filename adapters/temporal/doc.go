// Package temporal hands runs over to a Temporal server, and moves those on that it brings back.
//
// A run of this engine is a workflow, whose identifier is that of the run. The queue in the database stays
// what decides: which runs are due, whose turn it is, how many of a tenant may be worked on, and who may
// record. A process that leases such a run signals its workflow, which has an activity begin with it under
// that lease in whichever process asks Temporal for work. The activity lasts until the run waits or has ended.
//
// The alternative is to have Temporal decide: timers for waits, heartbeats instead of leases, and calls of
// nodes as activities of their own. It spares the database little as long as runs are recorded there, which
// answers and lists need; Temporal knows no turns of tenants and no bound for one of them, so a tenant with
// many runs would keep others waiting; and what a run does would have to be replayed from histories that
// other versions wrote. Here the workflow only waits and calls, so that it need not change.
package temporal
