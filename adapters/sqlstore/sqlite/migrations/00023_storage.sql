-- How many bytes of runs each tenant keeps, and payloads that several runs share.

-- +goose Up

-- A payload is added by the unit that starts the first runs with it, and goes with the
-- last one.
CREATE TABLE run_payloads (
    tenant_id text NOT NULL CONSTRAINT run_payloads_tenant REFERENCES tenants ON DELETE CASCADE,
    id        text NOT NULL,
    payload   text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
ALTER TABLE runs ADD COLUMN payload_id text;
CREATE INDEX runs_of_payload ON runs (tenant_id, payload_id) WHERE payload_id IS NOT NULL;

-- Their sum is what a tenant keeps. There is one shard only: one unit writes at a time.
CREATE TABLE tenant_storage (
    tenant_id text    NOT NULL CONSTRAINT tenant_storage_tenant REFERENCES tenants ON DELETE CASCADE,
    shard     integer NOT NULL,
    bytes     integer NOT NULL,
    PRIMARY KEY (tenant_id, shard)
);

-- How many bytes of a run are counted there: its own payload, its progress and its
-- history. It is null for runs from before, which are not counted until their next step.
ALTER TABLE runs ADD COLUMN kept integer;

-- +goose StatementBegin
CREATE TRIGGER runs_kept AFTER INSERT ON runs WHEN NEW.kept IS NOT NULL BEGIN
    INSERT INTO tenant_storage (tenant_id, shard, bytes) VALUES (NEW.tenant_id, 0, NEW.kept)
    ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runs_kept_changed AFTER UPDATE OF kept ON runs BEGIN
    INSERT INTO tenant_storage (tenant_id, shard, bytes) VALUES (NEW.tenant_id, 0, NEW.kept - coalesce(OLD.kept, 0))
    ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runs_released AFTER DELETE ON runs BEGIN
    UPDATE tenant_storage SET bytes = bytes - coalesce(OLD.kept, 0) WHERE tenant_id = OLD.tenant_id AND shard = 0;
    DELETE FROM run_payloads WHERE tenant_id = OLD.tenant_id AND id = OLD.payload_id
        AND NOT EXISTS (SELECT 1 FROM runs WHERE tenant_id = OLD.tenant_id AND payload_id = OLD.payload_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER run_payloads_added AFTER INSERT ON run_payloads BEGIN
    INSERT INTO tenant_storage (tenant_id, shard, bytes) VALUES (NEW.tenant_id, 0, octet_length(NEW.payload))
    ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER run_payloads_removed AFTER DELETE ON run_payloads BEGIN
    UPDATE tenant_storage SET bytes = bytes - octet_length(OLD.payload) WHERE tenant_id = OLD.tenant_id AND shard = 0;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER run_payloads_removed;
DROP TRIGGER run_payloads_added;
DROP TRIGGER runs_released;
DROP TRIGGER runs_kept_changed;
DROP TRIGGER runs_kept;
-- Each run gets its payload back: gateways of the version before know of no other.
UPDATE runs SET payload = (SELECT p.payload FROM run_payloads p WHERE p.tenant_id = runs.tenant_id AND p.id = runs.payload_id) WHERE payload_id IS NOT NULL;
DROP INDEX runs_of_payload;
ALTER TABLE runs DROP COLUMN kept;
ALTER TABLE runs DROP COLUMN payload_id;
DROP TABLE tenant_storage;
DROP TABLE run_payloads;
