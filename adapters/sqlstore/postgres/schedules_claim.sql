-- Has the transaction's statements join by keys. Their plans are kept: one that is made for a
-- tenant of whom statistics know nothing yet may choose any index that begins with the tenant,
-- and read all its triggers for the foreign key of each fire.
WITH this AS MATERIALIZED (SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true))
SELECT count(*) FROM this
