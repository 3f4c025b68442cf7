package postgres

// clock is the time now, not that of the transaction's beginning.
const clock = "date_trunc('milliseconds', clock_timestamp())"

// storageShard is one of as many as the migration has, by the connection.
const storageShard = "pg_backend_pid() % 32"

// claimTurn takes a lock that lasts as long as the transaction, and reads the clock when
// it has it. A process that is stopped while it holds the lock would stop all others,
// so its session is ended when it does nothing for that long. The rows that were finished
// with a moment ago are passed over only by who goes through an index in its order, and
// statistics lag behind: for this transaction there is no other way to read.
const claimTurn = `WITH mine AS MATERIALIZED (
		SELECT pg_advisory_xact_lock(hashtextextended('claim runs', 2)), set_config('idle_in_transaction_session_timeout', '3000', true),
			set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)
	) SELECT ` + clock + ` FROM mine`
