-- What tenants have used.
--
-- A row of usage_deltas is what one unit of work did for a tenant on a day of UTC, written in that unit. A job adds them to usage_days and removes
-- them. removed says that it is about records that do not say so any more, since they were deleted or sent again: what was counted less what was removed is
-- what the records say. usage_storage is how many bytes were kept when a day ended. usage_turn has one row, which the job holds while it works;
-- stored_at is when usage_storage was last written. since is the first day of which everything was counted.
-- Nothing refers to tenants from usage_deltas, since each row would lock that of its tenant; what is left of one that is gone is dropped by the job.
--
-- Gateways of 0.1.0 go on after it: what they do is not counted. They have the rest of the day and all of the next one to end.

-- +goose Up
CREATE TABLE usage_deltas (
    tenant_id         text COLLATE "C" NOT NULL,
    id                bigint GENERATED ALWAYS AS IDENTITY,
    day               text COLLATE "C" NOT NULL,
    removed           boolean NOT NULL,
    requests          bigint NOT NULL DEFAULT 0,
    requests_refused  bigint NOT NULL DEFAULT 0,
    runs_started      bigint NOT NULL DEFAULT 0,
    runs_children     bigint NOT NULL DEFAULT 0,
    runs_completed    bigint NOT NULL DEFAULT 0,
    runs_failed       bigint NOT NULL DEFAULT 0,
    runs_cancelled    bigint NOT NULL DEFAULT 0,
    runs_filtered     bigint NOT NULL DEFAULT 0,
    runs_skipped      bigint NOT NULL DEFAULT 0,
    node_attempts     bigint NOT NULL DEFAULT 0,
    delivered         bigint NOT NULL DEFAULT 0,
    deliveries_failed bigint NOT NULL DEFAULT 0,
    hooks_accepted    bigint NOT NULL DEFAULT 0,
    hooks_refused     bigint NOT NULL DEFAULT 0,
    code_us           bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id)
);
CREATE TABLE usage_days (
    tenant_id         text NOT NULL CONSTRAINT usage_days_tenant REFERENCES tenants ON DELETE CASCADE,
    day               text COLLATE "C" NOT NULL,
    removed           boolean NOT NULL,
    requests          bigint NOT NULL DEFAULT 0,
    requests_refused  bigint NOT NULL DEFAULT 0,
    runs_started      bigint NOT NULL DEFAULT 0,
    runs_children     bigint NOT NULL DEFAULT 0,
    runs_completed    bigint NOT NULL DEFAULT 0,
    runs_failed       bigint NOT NULL DEFAULT 0,
    runs_cancelled    bigint NOT NULL DEFAULT 0,
    runs_filtered     bigint NOT NULL DEFAULT 0,
    runs_skipped      bigint NOT NULL DEFAULT 0,
    node_attempts     bigint NOT NULL DEFAULT 0,
    delivered         bigint NOT NULL DEFAULT 0,
    deliveries_failed bigint NOT NULL DEFAULT 0,
    hooks_accepted    bigint NOT NULL DEFAULT 0,
    hooks_refused     bigint NOT NULL DEFAULT 0,
    code_us           bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, removed)
) WITH (fillfactor = 50);
CREATE TABLE usage_storage (
    tenant_id text NOT NULL CONSTRAINT usage_storage_tenant REFERENCES tenants ON DELETE CASCADE,
    day       text COLLATE "C" NOT NULL,
    bytes     bigint NOT NULL,
    PRIMARY KEY (tenant_id, day)
);
CREATE TABLE usage_turn (
    stored_at timestamptz NOT NULL,
    since     text COLLATE "C" NOT NULL
);
INSERT INTO usage_turn (stored_at, since)
    SELECT TIMESTAMPTZ '1970-01-01', CASE WHEN EXISTS (SELECT FROM tenants) THEN to_char((now() + interval '2 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD') ELSE '1970-01-01' END;

-- +goose Down
DROP TABLE usage_turn, usage_storage, usage_days, usage_deltas;
