package postgres

// freshly makes the transaction's statements be planned for tables of the size they have.
const freshly = "set_config('plan_cache_mode', 'force_custom_plan', true)"

// planFreshly does nothing else.
const planFreshly = "WITH this AS MATERIALIZED (SELECT " + freshly + ") SELECT count(*) FROM this"

// claimDeliveries takes a lock that lasts as long as the transaction, as [claimTurn] does.
const claimDeliveries = `WITH mine AS MATERIALIZED (
		SELECT pg_advisory_xact_lock(hashtextextended('claim deliveries', 2)), set_config('idle_in_transaction_session_timeout', '3000', true), ` + freshly + `
	) SELECT count(*) FROM mine`
