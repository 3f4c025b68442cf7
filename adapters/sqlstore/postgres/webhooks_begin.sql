-- Takes a lock that lasts as long as the transaction, as runs_begin.sql does, and reads the clock
-- when it has it. The transaction's statements are planned for tables of the size they have.
WITH mine AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended('claim deliveries', 2)), set_config('idle_in_transaction_session_timeout', '3000', true),
        set_config('plan_cache_mode', 'force_custom_plan', true)
)
SELECT date_trunc('milliseconds', clock_timestamp()) FROM mine
