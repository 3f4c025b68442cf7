-- Takes a lock that lasts as long as the transaction, and reads the clock when it has it. A
-- process that is stopped while it holds the lock would stop all others, so its session is
-- ended when it does nothing for that long. The rows that were finished with a moment ago are
-- passed over only by who goes through an index in its order, and statistics lag behind: for
-- this transaction there is no other way to read. What it reads by does not depend on the
-- parameters, so none of its statements is planned anew for them.
WITH mine AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended('claim runs', 2)), set_config('idle_in_transaction_session_timeout', '3000', true),
        set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
)
SELECT date_trunc('milliseconds', clock_timestamp()) FROM mine
