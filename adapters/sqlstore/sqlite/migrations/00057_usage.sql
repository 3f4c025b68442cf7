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
    tenant_id         text NOT NULL,
    id                integer NOT NULL DEFAULT (random()),
    day               text NOT NULL,
    removed           boolean NOT NULL,
    requests          integer NOT NULL DEFAULT 0,
    requests_refused  integer NOT NULL DEFAULT 0,
    runs_started      integer NOT NULL DEFAULT 0,
    runs_children     integer NOT NULL DEFAULT 0,
    runs_completed    integer NOT NULL DEFAULT 0,
    runs_failed       integer NOT NULL DEFAULT 0,
    runs_cancelled    integer NOT NULL DEFAULT 0,
    runs_filtered     integer NOT NULL DEFAULT 0,
    runs_skipped      integer NOT NULL DEFAULT 0,
    node_attempts     integer NOT NULL DEFAULT 0,
    delivered         integer NOT NULL DEFAULT 0,
    deliveries_failed integer NOT NULL DEFAULT 0,
    hooks_accepted    integer NOT NULL DEFAULT 0,
    hooks_refused     integer NOT NULL DEFAULT 0,
    code_us           integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id)
);
CREATE TABLE usage_days (
    tenant_id         text NOT NULL CONSTRAINT usage_days_tenant REFERENCES tenants ON DELETE CASCADE,
    day               text NOT NULL,
    removed           boolean NOT NULL,
    requests          integer NOT NULL DEFAULT 0,
    requests_refused  integer NOT NULL DEFAULT 0,
    runs_started      integer NOT NULL DEFAULT 0,
    runs_children     integer NOT NULL DEFAULT 0,
    runs_completed    integer NOT NULL DEFAULT 0,
    runs_failed       integer NOT NULL DEFAULT 0,
    runs_cancelled    integer NOT NULL DEFAULT 0,
    runs_filtered     integer NOT NULL DEFAULT 0,
    runs_skipped      integer NOT NULL DEFAULT 0,
    node_attempts     integer NOT NULL DEFAULT 0,
    delivered         integer NOT NULL DEFAULT 0,
    deliveries_failed integer NOT NULL DEFAULT 0,
    hooks_accepted    integer NOT NULL DEFAULT 0,
    hooks_refused     integer NOT NULL DEFAULT 0,
    code_us           integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, removed)
);
CREATE TABLE usage_storage (
    tenant_id text NOT NULL CONSTRAINT usage_storage_tenant REFERENCES tenants ON DELETE CASCADE,
    day       text NOT NULL,
    bytes     integer NOT NULL,
    PRIMARY KEY (tenant_id, day)
);
CREATE TABLE usage_turn (
    stored_at timestamp NOT NULL,
    since     text NOT NULL
);
INSERT INTO usage_turn (stored_at, since)
    SELECT '1970-01-01 00:00:00+00:00', CASE WHEN EXISTS (SELECT 1 FROM tenants) THEN date('now', '+2 days') ELSE '1970-01-01' END;

-- +goose Down
DROP TABLE usage_turn;
DROP TABLE usage_storage;
DROP TABLE usage_days;
DROP TABLE usage_deltas;
