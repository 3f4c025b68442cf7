package postgres

// Settings that last as long as the transaction. With them, an index that gives the rows
// in order is chosen over one that does not, and either over reading the whole table.
const indexSettings = "set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"

// byIndex makes the transaction's statements find rows by an index.
const byIndex = "WITH these AS MATERIALIZED (SELECT " + indexSettings + ") SELECT count(*) FROM these"

// claimDeliveries takes a lock that lasts as long as the transaction, as [claimTurn] does.
const claimDeliveries = `WITH mine AS MATERIALIZED (
		SELECT pg_advisory_xact_lock(hashtextextended('claim deliveries', 2)), set_config('idle_in_transaction_session_timeout', '3000', true),
			` + indexSettings + `
	) SELECT count(*) FROM mine`
