// Package temporal hands runs over to a Temporal server, and moves those on that it brings back.
//
// The queue in the database stays what decides: which runs are due, whose turn it is, how many of a tenant
// may be worked on, and who may record. Temporal knows no turns of tenants and no bound for one of them, so a
// tenant with many runs would keep others waiting. A process that leases a run of this engine begins a
// workflow, whose identifier is that of the run. Its one activity moves the run on in a process that asks
// Temporal for work, which mostly is the same one, until the run waits or has ended.
//
// Between two pauses Temporal keeps what the run does, in place of the database: the facts that the run was
// given, such as the results of its calls, sealed, as details of the activity's heartbeat. A heartbeat with
// details is kept by the server before it answers, adds no event to the history, and is handed on with the
// timeout when the process ends. The next process gives the run the same facts, so that calls that came back
// are not made again. What is too much for it, 64 KiB, is recorded in the database.
//
// The alternative is to have Temporal decide: timers for waits, and an activity for each call. Then what a
// run does would be replayed from histories that other versions wrote. Here the workflow only waits and
// calls, so that it need not change, and a history has about ten events, however long the run is.
package temporal
