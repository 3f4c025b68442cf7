package inbound

import "context"

// Upkeep is what the gateway does for itself from time to time.
type Upkeep interface {
	// SweepOutcomes removes what is kept of commands with an idempotency key once their
	// time is over, in batches that do not hold anybody up, and returns how many it
	// removed. Several processes may do so at the same time.
	SweepOutcomes(ctx context.Context) (removed int, err error)

	// SweepFires does the same with entries of the ledger of fires that are older than
	// trigger.FireRetention.
	SweepFires(ctx context.Context) (removed int, err error)

	// SweepLeft forgets in the same way of triggers that they were left behind longer than
	// trigger.LeftBehindRetention ago: the ledger says no more of their schedules.
	SweepLeft(ctx context.Context) (forgotten int, err error)

	// SweepEvents does the same with outgoing events that are older than event.Retention,
	// and with their deliveries. What is still to be delivered stays.
	SweepEvents(ctx context.Context) (removed int, err error)

	// SweepRuns does the same with runs that finished longer ago than their tenant keeps
	// them, as tenant.Settings.RunRetention says.
	SweepRuns(ctx context.Context) (removed int, err error)

	// CancelOrphans cancels unfinished runs whose workflow was deleted, which the deletion
	// itself has not come to: those that wait for somebody, above all, since a worker cancels
	// the others when they come up. It works in batches, as the others do, and returns how
	// many it cancelled.
	CancelOrphans(ctx context.Context) (cancelled int, err error)

	// SweepJobs does the same with jobs that ended longer than job.Retention ago.
	SweepJobs(ctx context.Context) (removed int, err error)

	// SweepHookDeliveries removes deliveries to hooks that were kept as long as runs are.
	SweepHookDeliveries(ctx context.Context) (removed int, err error)

	// SweepHookKeys forgets what deliveries to hooks have started, after hook.KeyRetention.
	SweepHookKeys(ctx context.Context) (removed int, err error)

	// SweepEmbedTokens does the same with embed tokens that expired longer than
	// tenant.TokenRetention ago.
	SweepEmbedTokens(ctx context.Context) (removed int, err error)

	// SweepSessions does the same with sessions of people, and the links by which they come in, that ended longer
	// than member.EndedRetention ago.
	SweepSessions(ctx context.Context) (removed int, err error)

	// SweepProcesses removes processes that were last seen longer than process.Retention ago.
	SweepProcesses(ctx context.Context) (removed int, err error)
}
