-- Runs: what each was started with, how far it is, and who works on it.

-- +goose Up

-- Runs outlive the workflow, version and trigger that they are of, so nothing refers to
-- those. due_at is when the run needs a worker, lease_until when the one that has it is
-- given up, free_at when it can be claimed. lease counts the claims and fences workers
-- that were given up; seq fences every step.
CREATE TABLE runs (
    tenant_id           text NOT NULL CONSTRAINT runs_tenant REFERENCES tenants ON DELETE CASCADE,
    id                  text NOT NULL,
    sub_tenant_id       text NOT NULL,
    workflow_id         text NOT NULL,
    workflow_version_id text NOT NULL,
    trigger_id          text NOT NULL,
    trigger_name        text NOT NULL,
    trigger_type        text NOT NULL,
    entity_id           text NOT NULL,
    dedupe_key          text NOT NULL,
    holds_key           boolean NOT NULL,
    cause               text NOT NULL,
    payload             text NOT NULL,
    max_retries         integer NOT NULL,
    backoff_ms          integer NOT NULL,
    max_backoff_ms      integer NOT NULL,
    timeout_ms          integer NOT NULL,
    status              text NOT NULL,
    seq                 integer NOT NULL,
    progress            text NOT NULL,
    failure_code        text,
    failure_message     text,
    failure_node        text,
    created_at          timestamp NOT NULL,
    updated_at          timestamp NOT NULL,
    started_at          timestamp,
    finished_at         timestamp,
    wake_at             timestamp,
    due_at              timestamp,
    worker              text NOT NULL DEFAULT '',
    lease               integer NOT NULL DEFAULT 0,
    lease_until         timestamp,
    free_at             timestamp GENERATED ALWAYS AS (max(due_at, coalesce(lease_until, due_at))) STORED,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX runs_by_creation ON runs (tenant_id, created_at, id);
CREATE INDEX runs_by_change ON runs (tenant_id, updated_at, id);
CREATE INDEX runs_of_workflow ON runs (tenant_id, workflow_id, created_at, id);
CREATE INDEX runs_of_entity ON runs (tenant_id, entity_id, created_at, id);
CREATE UNIQUE INDEX runs_key ON runs (tenant_id, trigger_id, dedupe_key) WHERE holds_key;
CREATE INDEX runs_live ON runs (tenant_id, trigger_id, workflow_id) WHERE finished_at IS NULL;
CREATE INDEX runs_paused ON runs (tenant_id, entity_id, created_at, id) WHERE status = 'paused';
CREATE INDEX runs_finished ON runs (tenant_id, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX runs_free ON runs (tenant_id, free_at, id) WHERE free_at IS NOT NULL;
CREATE INDEX runs_leased ON runs (tenant_id, lease_until) WHERE lease_until IS NOT NULL;

-- One row for each step that was recorded, with all its entries: a step is one insert,
-- and a history is read as a whole or from an entry on. seq is the last entry's.
CREATE TABLE run_history (
    tenant_id text NOT NULL,
    run_id    text NOT NULL,
    seq       integer NOT NULL,
    entries   text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, seq),
    CONSTRAINT run_history_run FOREIGN KEY (tenant_id, run_id) REFERENCES runs ON DELETE CASCADE
);

-- +goose Down
DROP TABLE run_history;
DROP TABLE runs;
