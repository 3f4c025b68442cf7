-- The schema of the database, aggregate by aggregate. PostgreSQL and SQLite have the same
-- tables, columns, indexes and constraint names; only how derived data is kept differs.
--
-- Every table of a tenant's records has the tenant at the start of its primary key, and every
-- reference carries the tenant along: a record cannot point into another tenant.
-- An empty sub_tenant_id means that the record belongs to the tenant as a whole.
-- search_text is what the text filter looks in: the name and, where there is one, the
-- description, in lower case.
-- COLLATE "C" sorts by bytes, as SQLite does.

-- +goose Up

-- Tenants ----------------------------------------------------------------------------------

-- One row for each tenant. settings is JSON.
CREATE TABLE tenants (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    status     text NOT NULL,
    settings   text NOT NULL,
    metadata   text NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    revision   bigint NOT NULL
);
CREATE INDEX tenants_by_creation ON tenants (created_at, id);

-- One row for each API key. hash is of the secret, which is stored nowhere. successor_id is the
-- key that replaced a rotated one, so that repeating the rotation within the grace period
-- returns the same successor.
CREATE TABLE api_keys (
    tenant_id    text NOT NULL CONSTRAINT api_keys_tenant REFERENCES tenants ON DELETE CASCADE,
    id           text NOT NULL,
    type         text NOT NULL,
    name         text NOT NULL,
    hash         bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE,
    last_four    text NOT NULL,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    successor_id text NOT NULL,
    revision     bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX api_keys_by_creation ON api_keys (tenant_id, created_at, id);

-- One row for each registered sub-tenant. sub_tenant_id is the identifier that its tenant uses.
CREATE TABLE sub_tenants (
    tenant_id     text NOT NULL CONSTRAINT sub_tenants_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    description   text,
    search_text   text NOT NULL,
    metadata      text NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX sub_tenants_identifier ON sub_tenants (tenant_id, sub_tenant_id);
CREATE INDEX sub_tenants_by_creation ON sub_tenants (tenant_id, created_at, id);

-- One row for each secret of the gateway itself, shared by all its processes. bits is
-- hexadecimal.
CREATE TABLE gateway_keys (
    name text NOT NULL PRIMARY KEY,
    bits text NOT NULL
);

-- Processes --------------------------------------------------------------------------------

-- One row for each process of the gateway, of whatever version: seen_at is when it last said
-- that it is alive. Its feature level says which rows it can deal with.
CREATE TABLE processes (
    id         text NOT NULL PRIMARY KEY,
    version    text NOT NULL,
    level      smallint NOT NULL,
    role       text NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL
);

-- The only row: the feature level that every process must have, since something is in use
-- that those below it would get wrong. It never falls.
CREATE TABLE required_level (
    level smallint NOT NULL
);
INSERT INTO required_level (level) VALUES (0);

-- Idempotency ------------------------------------------------------------------------------

-- One row for each command that a tenant sent with an idempotency key: what was answered,
-- written in the transaction of the command's effect.
CREATE TABLE outcomes (
    tenant_id   text NOT NULL CONSTRAINT outcomes_tenant REFERENCES tenants ON DELETE CASCADE,
    scope       text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,
    answer      bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, scope, key)
);
CREATE INDEX outcomes_by_creation ON outcomes (created_at);

-- The same for commands of the operator that concern no tenant yet. Without a reference to a
-- tenant, a late repeat does not create again what was deleted in between.
CREATE TABLE operator_outcomes (
    scope       text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,
    answer      bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX operator_outcomes_by_creation ON operator_outcomes (created_at);

-- Custom nodes -----------------------------------------------------------------------------

-- One row for each custom node, with its current version. The schemas and translations are JSON.
CREATE TABLE custom_nodes (
    tenant_id     text NOT NULL CONSTRAINT custom_nodes_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    type          text COLLATE "C" NOT NULL,
    version       text NOT NULL,
    name          text COLLATE "C" NOT NULL,
    search_text   text NOT NULL,
    description   text NOT NULL,
    input_schema  text NOT NULL,
    output_schema text NOT NULL,
    config_schema text NOT NULL,
    endpoint      text NOT NULL,
    can_pause     boolean NOT NULL,
    is_active     boolean NOT NULL,
    translations  text NOT NULL,
    metadata      text NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX custom_nodes_type ON custom_nodes (tenant_id, type, version);

-- One row for each type and version that a tenant ever defined. The meaning of a version never
-- changes, so it stays taken when its node moves to a higher one or is deleted.
CREATE TABLE custom_node_versions (
    tenant_id text NOT NULL CONSTRAINT custom_node_versions_tenant REFERENCES tenants ON DELETE CASCADE,
    type      text NOT NULL,
    version   text NOT NULL,
    CONSTRAINT custom_node_versions_taken PRIMARY KEY (tenant_id, type, version)
);

-- One row for each custom node that a heartbeat was sent to: the last result. It is a table of
-- its own because a heartbeat does not change the node.
CREATE TABLE custom_node_health (
    tenant_id  text NOT NULL,
    node_id    text NOT NULL,
    endpoint   text NOT NULL,
    is_healthy boolean NOT NULL,
    checked_at timestamptz NOT NULL,
    latency_ms bigint NOT NULL,
    code       text NOT NULL,
    message    text NOT NULL,
    PRIMARY KEY (tenant_id, node_id),
    CONSTRAINT custom_node_health_node FOREIGN KEY (tenant_id, node_id) REFERENCES custom_nodes ON DELETE CASCADE
);

-- One row for each tenant: the secrets that sign the calls of its custom nodes.
CREATE TABLE node_secrets (
    tenant_id       text NOT NULL PRIMARY KEY CONSTRAINT node_secrets_tenant REFERENCES tenants ON DELETE CASCADE,
    secret          text NOT NULL,
    retired_secrets text NOT NULL,
    created_at      timestamptz NOT NULL,
    revision        bigint NOT NULL
);

-- Workflows --------------------------------------------------------------------------------

-- One row for each workflow. last_version is the highest number that a version of it has had.
CREATE TABLE workflows (
    tenant_id     text NOT NULL CONSTRAINT workflows_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    description   text,
    search_text   text NOT NULL,
    is_active     boolean NOT NULL,
    last_version  integer NOT NULL DEFAULT 0,
    metadata      text NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX workflows_name ON workflows (tenant_id, sub_tenant_id, name);
CREATE INDEX workflows_by_creation ON workflows (tenant_id, created_at, id);
CREATE INDEX workflows_by_change ON workflows (tenant_id, updated_at, id);
CREATE INDEX workflows_by_name ON workflows (tenant_id, name, id);

-- One row for each version of a workflow. graph is JSON; published_at is null for a draft. At
-- most one version of a workflow is active. needs_level, here and below, is the feature level
-- that a process must have to deal with the row.
CREATE TABLE workflow_versions (
    tenant_id     text NOT NULL,
    id            text NOT NULL,
    workflow_id   text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    number        integer NOT NULL,
    graph         text NOT NULL,
    is_active     boolean NOT NULL,
    needs_level   smallint NOT NULL DEFAULT 0,
    published_at  timestamptz,
    metadata      text NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT workflow_versions_workflow FOREIGN KEY (tenant_id, workflow_id) REFERENCES workflows ON DELETE CASCADE,
    CONSTRAINT workflow_versions_number UNIQUE (tenant_id, workflow_id, number)
);
CREATE UNIQUE INDEX workflow_versions_active ON workflow_versions (tenant_id, workflow_id) WHERE is_active;

-- Triggers ---------------------------------------------------------------------------------

-- One row for each trigger. config is JSON; event is the event in it that a trigger of type
-- webhook listens for, null for none.
CREATE TABLE triggers (
    tenant_id           text NOT NULL,
    id                  text NOT NULL,
    sub_tenant_id       text COLLATE "C" NOT NULL,
    workflow_version_id text NOT NULL,
    name                text COLLATE "C" NOT NULL,
    search_text         text NOT NULL,
    type                text NOT NULL,
    config              text NOT NULL,
    event               text COLLATE "C",
    is_active           boolean NOT NULL,
    activated_at        timestamptz NOT NULL,
    metadata            text NOT NULL DEFAULT '{}',
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    revision            bigint NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT triggers_version FOREIGN KEY (tenant_id, workflow_version_id) REFERENCES workflow_versions ON DELETE CASCADE
);
CREATE INDEX triggers_by_creation ON triggers (tenant_id, created_at, id);
CREATE INDEX triggers_by_version ON triggers (tenant_id, workflow_version_id);
CREATE INDEX triggers_by_event ON triggers (tenant_id, event, created_at, id) WHERE event IS NOT NULL;

-- One row for each instant of each schedule: what came of it.
CREATE TABLE trigger_fires (
    tenant_id    text NOT NULL,
    trigger_id   text NOT NULL,
    scheduled_at timestamptz NOT NULL,
    outcome      text NOT NULL,
    reason       text NOT NULL,
    run_id       text NOT NULL,
    recorded_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id, scheduled_at),
    CONSTRAINT trigger_fires_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE INDEX trigger_fires_by_record ON trigger_fires (recorded_at);

-- One row for each trigger that can fire by a schedule; what is inactive has none, and starts
-- afresh when it becomes active again. Every instant up to dealt_with was dealt with. next_at is
-- when to look at the schedule next, which may be too early; null when it is never due again.
CREATE TABLE trigger_schedules (
    tenant_id   text NOT NULL,
    trigger_id  text NOT NULL,
    dealt_with  timestamptz NOT NULL,
    next_at     timestamptz,
    needs_level smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, trigger_id),
    CONSTRAINT trigger_schedules_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE INDEX trigger_schedules_due ON trigger_schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX trigger_schedules_turns ON trigger_schedules (tenant_id, next_at, trigger_id) WHERE next_at IS NOT NULL;

-- The versions whose triggers can fire.
CREATE VIEW firing_versions AS
SELECT v.tenant_id, v.id, v.workflow_id, v.needs_level
FROM workflow_versions v
JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id
JOIN tenants o ON o.id = v.tenant_id
WHERE v.is_active AND w.is_active AND o.status = 'active';

-- The triggers that can fire by a schedule.
CREATE VIEW firing_schedules AS
SELECT t.tenant_id, t.id AS trigger_id, v.id AS workflow_version_id, v.workflow_id, v.needs_level
FROM firing_versions v
JOIN triggers t ON t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
WHERE t.type = 'schedule' AND t.is_active;

-- The rows of trigger_schedules follow the triggers, versions, workflows and tenants.
-- Whether a trigger can fire depends on records that other transactions may be changing.
-- Locking those before the trigger is written, from the top down as everywhere, makes one of
-- the two wait for the other, so that the later one sees both.
-- +goose StatementBegin
CREATE FUNCTION lock_for_schedule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM tenants WHERE id = NEW.tenant_id FOR SHARE;
    PERFORM FROM workflows w WHERE w.tenant_id = NEW.tenant_id AND w.id = (
        SELECT v.workflow_id FROM workflow_versions v WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id) FOR SHARE;
    PERFORM FROM workflow_versions v WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id FOR SHARE;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER triggers_schedule_locks BEFORE INSERT ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND NEW.is_active) EXECUTE FUNCTION lock_for_schedule();
CREATE TRIGGER triggers_schedule_changed_locks BEFORE UPDATE OF is_active, activated_at ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at)) EXECUTE FUNCTION lock_for_schedule();

-- +goose StatementBegin
CREATE FUNCTION schedule_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    END IF;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT NEW.tenant_id, NEW.id, NEW.activated_at, NEW.activated_at, v.needs_level FROM firing_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id AND NEW.is_active;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER triggers_schedule AFTER INSERT ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND NEW.is_active) EXECUTE FUNCTION schedule_trigger();
CREATE TRIGGER triggers_schedule_changed AFTER UPDATE OF is_active, activated_at ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at)) EXECUTE FUNCTION schedule_trigger();

-- +goose StatementBegin
CREATE FUNCTION schedule_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules d USING triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id
        AND d.tenant_id = t.tenant_id AND d.trigger_id = t.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER workflow_versions_schedule AFTER UPDATE OF is_active ON workflow_versions FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION schedule_version();

-- +goose StatementBegin
CREATE FUNCTION schedule_workflow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules d USING triggers t, workflow_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.workflow_id = NEW.id AND t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
        AND d.tenant_id = t.tenant_id AND d.trigger_id = t.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER workflows_schedule AFTER UPDATE OF is_active ON workflows FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION schedule_workflow();

-- +goose StatementBegin
CREATE FUNCTION schedule_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at, s.needs_level FROM firing_schedules s WHERE s.tenant_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tenants_schedule AFTER UPDATE OF status ON tenants FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION schedule_tenant();

-- Runs -------------------------------------------------------------------------------------

-- One row for each run: what it was started with and how far it is. Runs outlive the workflow,
-- version and trigger that they are of, so nothing refers to those. seq fences every step.
-- payload is the run's own, or empty when it shares the one of payload_id.
-- outputs is how many bytes the run has in run_outputs, kept how many are counted in
-- tenant_storage: its own payload, its progress, its history and its outputs.
-- kept_before is kept as it was before the last change, so that RETURNING knows the difference.
-- awaits is a JSON array of {event, until}: what the run waits for. awaited is what an index
-- looks for: = and the event, = alone for any event, - for a time only, * for several that
-- differ, null for nothing.
CREATE TABLE runs (
    tenant_id           text NOT NULL CONSTRAINT runs_tenant REFERENCES tenants ON DELETE CASCADE,
    id                  text NOT NULL,
    sub_tenant_id       text COLLATE "C" NOT NULL,
    workflow_id         text NOT NULL,
    workflow_version_id text NOT NULL,
    trigger_id          text NOT NULL,
    trigger_name        text NOT NULL,
    trigger_type        text NOT NULL,
    entity_id           text COLLATE "C" NOT NULL,
    dedupe_key          text COLLATE "C" NOT NULL,
    holds_key           boolean NOT NULL,
    cause               text NOT NULL,
    payload             text NOT NULL,
    payload_id          text,
    max_retries         integer NOT NULL,
    backoff_ms          bigint NOT NULL,
    max_backoff_ms      bigint NOT NULL,
    timeout_ms          bigint NOT NULL,
    status              text NOT NULL,
    seq                 bigint NOT NULL,
    progress            text NOT NULL,
    outputs             bigint NOT NULL DEFAULT 0,
    kept                bigint NOT NULL DEFAULT 0,
    kept_before         bigint NOT NULL DEFAULT 0,
    failure_code        text,
    failure_message     text,
    failure_node        text,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    started_at          timestamptz,
    finished_at         timestamptz,
    wake_at             timestamptz,
    awaits              text,
    awaited             text COLLATE "C",
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX runs_key ON runs (tenant_id, trigger_id, dedupe_key) WHERE holds_key;
CREATE INDEX runs_finished ON runs (tenant_id, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX runs_of_payload ON runs (tenant_id, payload_id) WHERE payload_id IS NOT NULL;
CREATE INDEX runs_by_change ON runs (tenant_id, updated_at, id);
CREATE INDEX runs_awaiting ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running') AND awaited IS NOT NULL;
CREATE INDEX runs_awaiting_event ON runs (tenant_id, entity_id, awaited, created_at, id) WHERE status IN ('paused', 'running') AND awaited IS NOT NULL;
-- Pending runs are among the unfinished ones, which have an index.
CREATE INDEX runs_of_status ON runs (tenant_id, status, created_at, id) WHERE status <> 'pending';

-- One row for each run that has not finished: when it needs a worker, and who works on it. It is
-- apart from runs, so that what changes often is small, however many finished runs are kept.
-- lease grows with each claim and fences workers that were given up. seq is that of the run, and
-- size how many bytes its payload, its progress and its outputs are.
-- due_at is when the run needs a worker, lease_until when the one that has it is given up,
-- free_at when it can be claimed.
-- ready_at equals free_at while the run takes turns: from its start, or since a claim promoted
-- it because its time had come. All other runs are found by their time.
-- alone says what is known of a lease that ended by its time: 1 that its process ended while it
-- worked on the run, 2 that the run is being tried alone, 3 that its process ended during that.
-- Two of its three changes leave a dead entry in each index, and a claim passes over those of its
-- tenant: the table is vacuumed every few thousand runs, which is cheap while it is small.
CREATE TABLE live_runs (
    tenant_id   text NOT NULL,
    id          text NOT NULL,
    trigger_id  text NOT NULL,
    workflow_id text NOT NULL,
    seq         bigint NOT NULL,
    size        bigint NOT NULL,
    due_at      timestamptz,
    ready_at    timestamptz,
    worker      text NOT NULL DEFAULT '',
    lease       bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    alone       smallint NOT NULL DEFAULT 0,
    needs_level smallint NOT NULL DEFAULT 0,
    free_at     timestamptz GENERATED ALWAYS AS (CASE WHEN due_at IS NOT NULL THEN greatest(due_at, lease_until) END) STORED,
    PRIMARY KEY (tenant_id, id)
) WITH (
    vacuum_truncate = false, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX live_runs_ready ON live_runs (tenant_id, ready_at, id) WHERE ready_at = free_at;
CREATE INDEX live_runs_timed ON live_runs (free_at, tenant_id, id) WHERE free_at IS NOT NULL AND ready_at IS DISTINCT FROM free_at;
CREATE INDEX live_runs_leased ON live_runs (tenant_id, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX live_runs_origin ON live_runs (tenant_id, trigger_id, workflow_id);

-- One row for each run: what lists filter by and never changes. Every step of a run writes each
-- index of runs anew, whatever it changes; here the indexes are written once. The statement that
-- starts a run adds its row.
CREATE TABLE run_facets (
    tenant_id           text NOT NULL,
    created_at          timestamptz NOT NULL,
    id                  text NOT NULL,
    sub_tenant_id       text COLLATE "C" NOT NULL,
    workflow_id         text NOT NULL,
    workflow_version_id text NOT NULL,
    trigger_id          text NOT NULL,
    entity_id           text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, created_at, id)
);
CREATE INDEX run_facets_sub_tenant ON run_facets (tenant_id, sub_tenant_id, created_at, id) WHERE sub_tenant_id <> '';
CREATE INDEX run_facets_workflow ON run_facets (tenant_id, workflow_id, created_at, id);
CREATE INDEX run_facets_version ON run_facets (tenant_id, workflow_version_id, created_at, id);
CREATE INDEX run_facets_trigger ON run_facets (tenant_id, trigger_id, created_at, id) WHERE trigger_id <> '';
CREATE INDEX run_facets_entity ON run_facets (tenant_id, entity_id, created_at, id);

-- One row for each recorded step of a run, with all its entries as JSON: a step is one insert,
-- and a history is read as a whole or from an entry on. seq is that of the last entry.
-- There is no reference to the run, because checking it would lock the row of the run that the
-- same transaction has just written; runs_deleted removes what belongs to deleted runs.
CREATE TABLE run_history (
    tenant_id text NOT NULL,
    run_id    text NOT NULL,
    seq       bigint NOT NULL,
    entries   text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, seq)
);

-- One row for each large output of a node of a run: written once, and not with every step as
-- runs.progress is.
CREATE TABLE run_outputs (
    tenant_id text NOT NULL,
    run_id    text NOT NULL,
    node_id   text NOT NULL,
    output    text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, node_id)
);

-- One row for each payload that runs refer to instead of having it themselves. It is added by
-- the transaction that starts the first of them, and removed with the last one.
CREATE TABLE run_payloads (
    tenant_id text NOT NULL CONSTRAINT run_payloads_tenant REFERENCES tenants ON DELETE CASCADE,
    id        text NOT NULL,
    payload   text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- One row for each shard of a tenant's storage: bytes of runs. Their sum is what the tenant
-- stores. A connection adds to the shard of its process number, so that connections that write
-- at the same time do not wait for one another.
CREATE TABLE tenant_storage (
    tenant_id text NOT NULL CONSTRAINT tenant_storage_tenant REFERENCES tenants ON DELETE CASCADE,
    shard     integer NOT NULL,
    bytes     bigint NOT NULL,
    PRIMARY KEY (tenant_id, shard)
) WITH (fillfactor = 50);

-- The statements that start and record runs count their bytes; these triggers count what is
-- removed, and payloads that runs refer to. Who adds runs to a payload locks its row; who
-- removes runs waits for that, and only then looks whether any are left.
-- +goose StatementBegin
CREATE FUNCTION clean_up_after_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM live_runs l USING deleted d WHERE d.finished_at IS NULL AND l.tenant_id = d.tenant_id AND l.id = d.id;
    DELETE FROM run_history h USING deleted d WHERE h.tenant_id = d.tenant_id AND h.run_id = d.id;
    DELETE FROM run_outputs o USING deleted d WHERE d.outputs > 0 AND o.tenant_id = d.tenant_id AND o.run_id = d.id;
    DELETE FROM run_facets f USING deleted d WHERE f.tenant_id = d.tenant_id AND f.created_at = d.created_at AND f.id = d.id;
    PERFORM FROM run_payloads p
        WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL)
        ORDER BY p.tenant_id, p.id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM run_payloads p
            WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.payload_id = p.id);
    END IF;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT d.tenant_id, pg_backend_pid() % 32, -sum(d.kept) FROM deleted d
        JOIN tenants t ON t.id = d.tenant_id -- a tenant that is being deleted takes its storage along
        GROUP BY d.tenant_id HAVING sum(d.kept) <> 0 ORDER BY d.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER runs_deleted AFTER DELETE ON runs REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION clean_up_after_runs();

-- +goose StatementBegin
CREATE FUNCTION count_run_payloads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT c.tenant_id, pg_backend_pid() % 32, sum(octet_length(c.payload)) * CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END FROM changed c
        JOIN tenants t ON t.id = c.tenant_id
        GROUP BY c.tenant_id ORDER BY c.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER run_payloads_added AFTER INSERT ON run_payloads REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_run_payloads();
CREATE TRIGGER run_payloads_removed AFTER DELETE ON run_payloads REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_run_payloads();

-- Webhooks ---------------------------------------------------------------------------------

-- One row for each webhook endpoint. events and retired_secrets are JSON.
CREATE TABLE webhook_endpoints (
    tenant_id       text NOT NULL CONSTRAINT webhook_endpoints_tenant REFERENCES tenants ON DELETE CASCADE,
    id              text NOT NULL,
    sub_tenant_id   text COLLATE "C" NOT NULL,
    url             text NOT NULL,
    description     text,
    search_text     text NOT NULL,
    events          text NOT NULL,
    is_active       boolean NOT NULL,
    secret          text NOT NULL,
    retired_secrets text NOT NULL,
    failing_since   timestamptz,
    disabled_at     timestamptz,
    disabled_reason text NOT NULL,
    metadata        text NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX webhook_endpoints_by_creation ON webhook_endpoints (tenant_id, created_at, id);

-- One row for each event that endpoints want. It waits until its deliveries are made, and is
-- kept with them after that.
CREATE TABLE webhook_events (
    tenant_id     text NOT NULL CONSTRAINT webhook_events_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    type          text NOT NULL,
    happened_at   timestamptz NOT NULL,
    data          text NOT NULL,
    waits         boolean NOT NULL,
    needs_level   smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX webhook_events_waiting ON webhook_events (tenant_id, happened_at, id) WHERE waits;
CREATE INDEX webhook_events_by_time ON webhook_events (happened_at);

-- One row for each event and endpoint that it is delivered to. attempts is JSON, attempted
-- their number. free_at is when a pending delivery can be claimed by a sender. is_urgent marks
-- what somebody asked for, which goes before the others of its endpoint.
CREATE TABLE webhook_deliveries (
    tenant_id       text NOT NULL,
    id              text NOT NULL,
    endpoint_id     text NOT NULL,
    event_id        text NOT NULL,
    event_type      text NOT NULL,
    status          text NOT NULL,
    attempts        text NOT NULL,
    attempted       integer NOT NULL,
    next_attempt_at timestamptz,
    is_manual       boolean NOT NULL,
    is_urgent       boolean NOT NULL DEFAULT false,
    leased_until    timestamptz,
    delivered_at    timestamptz,
    reason          text NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    revision        bigint NOT NULL,
    needs_level     smallint NOT NULL DEFAULT 0,
    free_at         timestamptz GENERATED ALWAYS AS (greatest(next_attempt_at, leased_until)) STORED,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_endpoint FOREIGN KEY (tenant_id, endpoint_id) REFERENCES webhook_endpoints ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_event FOREIGN KEY (tenant_id, event_id) REFERENCES webhook_events ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_by_creation ON webhook_deliveries (tenant_id, endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_of_event ON webhook_deliveries (tenant_id, event_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (tenant_id, endpoint_id, next_attempt_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_urgent ON webhook_deliveries (tenant_id, next_attempt_at, id) WHERE status = 'pending' AND is_urgent;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (tenant_id, endpoint_id, leased_until) WHERE status = 'pending' AND leased_until IS NOT NULL;
CREATE INDEX webhook_deliveries_free ON webhook_deliveries (free_at) WHERE status = 'pending';
-- By this one the tenants with due deliveries are found among many. Only queries that say that
-- free_at is not null, which it never is of a pending delivery, use it: others have better ones.
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (tenant_id, free_at) WHERE status = 'pending' AND free_at IS NOT NULL;

-- Totals and changes -----------------------------------------------------------------------

-- One row for each shard of the number of workflows or triggers of a tenant that are active, or
-- inactive, so that a list knows its exact total without counting. changes is how often any of
-- them changed: a list whose changes and totals are what they were is what it was. A connection
-- adds to the shard of its process number, so that connections that write at the same time do
-- not wait for one another; the sum is the total.
CREATE TABLE totals (
    tenant_id text NOT NULL CONSTRAINT totals_tenant REFERENCES tenants ON DELETE CASCADE,
    kind      text NOT NULL,
    is_active boolean NOT NULL,
    shard     integer NOT NULL,
    n         bigint NOT NULL,
    changes   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, kind, is_active, shard)
) WITH (fillfactor = 50);

-- Once for each statement, so that one that inserts many rows pays once; in the order of the
-- tenants, so that two statements never wait for each other.
-- +goose StatementBegin
CREATE FUNCTION keep_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO totals (tenant_id, kind, is_active, shard, n, changes)
        SELECT tenant_id, TG_TABLE_NAME, is_active, pg_backend_pid() % 32, 0, 1
        FROM changed GROUP BY tenant_id, is_active ORDER BY tenant_id, is_active
        ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET changes = totals.changes + 1;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO totals (tenant_id, kind, is_active, shard, n, changes)
        SELECT tenant_id, TG_TABLE_NAME, is_active, pg_backend_pid() % 32, count(*), 1
        FROM changed GROUP BY tenant_id, is_active ORDER BY tenant_id, is_active
        ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET n = totals.n + excluded.n, changes = totals.changes + 1;
    ELSE
        INSERT INTO totals (tenant_id, kind, is_active, shard, n, changes)
        SELECT c.tenant_id, TG_TABLE_NAME, c.is_active, pg_backend_pid() % 32, -count(*), 1
        FROM changed c JOIN tenants t ON t.id = c.tenant_id -- a tenant that is being deleted takes its totals along
        GROUP BY c.tenant_id, c.is_active ORDER BY c.tenant_id, c.is_active
        ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET n = totals.n + excluded.n, changes = totals.changes + 1;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER workflows_inserted AFTER INSERT ON workflows REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER workflows_updated AFTER UPDATE ON workflows REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER workflows_deleted AFTER DELETE ON workflows REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER triggers_inserted AFTER INSERT ON triggers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER triggers_updated AFTER UPDATE ON triggers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER triggers_deleted AFTER DELETE ON triggers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();

-- +goose StatementBegin
CREATE FUNCTION move_total() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO totals (tenant_id, kind, is_active, shard, n)
    VALUES (OLD.tenant_id, TG_TABLE_NAME, OLD.is_active, pg_backend_pid() % 32, -1),
        (NEW.tenant_id, TG_TABLE_NAME, NEW.is_active, pg_backend_pid() % 32, 1)
    ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET n = totals.n + excluded.n;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER workflows_total_changed AFTER UPDATE OF is_active ON workflows FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION move_total();
CREATE TRIGGER triggers_total_changed AFTER UPDATE OF is_active ON triggers FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION move_total();

-- Processes hold keys, settings and node types in memory; NOTIFY says when one of them changes.
-- Recording the last use of a key says nothing.
-- +goose StatementBegin
CREATE FUNCTION notify_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed record;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    IF TG_TABLE_NAME = 'tenants' THEN
        PERFORM pg_notify('sluice_changes', changed.id);
    ELSE
        PERFORM pg_notify('sluice_changes', changed.tenant_id);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tenants_change AFTER DELETE OR UPDATE ON tenants FOR EACH ROW EXECUTE FUNCTION notify_change();
CREATE TRIGGER api_keys_change AFTER INSERT OR DELETE OR UPDATE OF name, hash, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION notify_change();
CREATE TRIGGER custom_nodes_change AFTER INSERT OR DELETE OR UPDATE ON custom_nodes FOR EACH ROW EXECUTE FUNCTION notify_change();
CREATE TRIGGER node_secrets_change AFTER INSERT OR DELETE OR UPDATE ON node_secrets FOR EACH ROW EXECUTE FUNCTION notify_change();
-- +goose Down
DROP TABLE totals, webhook_deliveries, webhook_events, webhook_endpoints, tenant_storage, run_payloads, run_outputs, run_history, run_facets, live_runs, runs;
DROP VIEW firing_schedules, firing_versions;
DROP TABLE trigger_schedules, trigger_fires, triggers, workflow_versions, workflows;
DROP TABLE node_secrets, custom_node_health, custom_node_versions, custom_nodes, operator_outcomes, outcomes, required_level, processes, gateway_keys, sub_tenants, api_keys, tenants;
DROP FUNCTION notify_change, move_total, keep_totals, count_run_payloads, clean_up_after_runs;
DROP FUNCTION schedule_tenant, schedule_workflow, schedule_version, schedule_trigger, lock_for_schedule;
