-- Hooks: addresses at which third parties that have no key start runs.
--
-- One row of hooks for a trigger that has one. config is JSON. token_hash is SHA-256 of the address's token
-- in base64url; retired_hash is that of the one before it, which lives until retired_until.
-- One row of hook_secrets for each connection that a hook verifies with.
-- One row of hook_deliveries for each delivery that is kept: sealed is the whole of it, encrypted; runs is a JSON
-- array of what it started. Refused ones do not count as the tenant's storage. hook_usage counts the rows of a hook; triggers keep it.
-- One row of hook_keys for each key that stands for a run: key is a hash of the hook and the key that its sender
-- gave. Nothing refers to hooks from there, so that a hook is deleted quickly; what is left expires.
-- runs.replay_of is the delivery that a run repeats; null for none.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they know nothing of hooks, and delete them with their triggers.

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS hooks (
    tenant_id     text NOT NULL,
    trigger_id    text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    config        text NOT NULL,
    is_active     boolean NOT NULL,
    token_hash    text NOT NULL,
    token_hint    text NOT NULL,
    retired_hash  text,
    retired_until timestamptz,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    CONSTRAINT hooks_taken PRIMARY KEY (tenant_id, trigger_id),
    CONSTRAINT hooks_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE UNIQUE INDEX IF NOT EXISTS hooks_token ON hooks (token_hash);
CREATE UNIQUE INDEX IF NOT EXISTS hooks_retired_token ON hooks (retired_hash) WHERE retired_hash IS NOT NULL;
CREATE OR REPLACE TRIGGER hooks_change AFTER INSERT OR DELETE OR UPDATE ON hooks FOR EACH ROW EXECUTE FUNCTION notify_change();

CREATE TABLE IF NOT EXISTS hook_secrets (
    tenant_id     text NOT NULL,
    connection_id text NOT NULL,
    trigger_id    text NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, trigger_id),
    CONSTRAINT hook_secrets_hook FOREIGN KEY (tenant_id, trigger_id) REFERENCES hooks ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS hook_secrets_by_hook ON hook_secrets (tenant_id, trigger_id);

CREATE TABLE IF NOT EXISTS hook_usage (
    tenant_id  text NOT NULL,
    trigger_id text NOT NULL,
    kept       bigint NOT NULL,
    bytes      bigint NOT NULL,
    refused    bigint NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id),
    CONSTRAINT hook_usage_hook FOREIGN KEY (tenant_id, trigger_id) REFERENCES hooks ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS hook_deliveries (
    tenant_id   text NOT NULL,
    trigger_id  text NOT NULL,
    id          text COLLATE "C" NOT NULL,
    received_at timestamptz NOT NULL,
    verdict     text NOT NULL,
    code        text NOT NULL,
    refused     boolean NOT NULL,
    runs        text NOT NULL,
    items       integer NOT NULL,
    replay_of   text NOT NULL,
    size        bigint NOT NULL,
    sealed      text NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id, id),
    CONSTRAINT hook_deliveries_hook FOREIGN KEY (tenant_id, trigger_id) REFERENCES hooks ON DELETE CASCADE
);
ALTER TABLE hook_deliveries ALTER COLUMN sealed SET STORAGE EXTERNAL; -- what is encrypted cannot be compressed
CREATE INDEX IF NOT EXISTS hook_deliveries_received ON hook_deliveries (tenant_id, received_at);

CREATE TABLE IF NOT EXISTS hook_keys (
    tenant_id text NOT NULL,
    key       text COLLATE "C" NOT NULL,
    run_id    text NOT NULL,
    taken_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX IF NOT EXISTS hook_keys_taken ON hook_keys (taken_at);

-- Hooks are held in the order of their keys, so that two units never wait for each other.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_hook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    PERFORM FROM hook_usage u WHERE (u.tenant_id, u.trigger_id) IN (SELECT c.tenant_id, c.trigger_id FROM changed c)
        ORDER BY u.tenant_id, u.trigger_id FOR UPDATE;
    UPDATE hook_usage u SET kept = u.kept + sign * c.kept, bytes = u.bytes + sign * c.bytes, refused = u.refused + sign * c.refused FROM (
            SELECT tenant_id, trigger_id, count(*) FILTER (WHERE NOT changed.refused) AS kept, coalesce(sum(size) FILTER (WHERE NOT changed.refused), 0) AS bytes,
                count(*) FILTER (WHERE changed.refused) AS refused
            FROM changed GROUP BY tenant_id, trigger_id) c
        WHERE u.tenant_id = c.tenant_id AND u.trigger_id = c.trigger_id;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT c.tenant_id, pg_backend_pid() % 32, sign * sum(c.size) FROM changed c
        JOIN tenants t ON t.id = c.tenant_id -- a tenant that is being deleted takes its storage along
        WHERE NOT c.refused GROUP BY c.tenant_id HAVING sum(c.size) <> 0 ORDER BY c.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE OR REPLACE TRIGGER hook_deliveries_added AFTER INSERT ON hook_deliveries REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_hook_deliveries();
CREATE OR REPLACE TRIGGER hook_deliveries_removed AFTER DELETE ON hook_deliveries REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_hook_deliveries();

CALL change_under_load($$ALTER TABLE runs ADD COLUMN IF NOT EXISTS replay_of text$$);

-- +goose Down
ALTER TABLE runs DROP COLUMN replay_of;
DROP TABLE hook_keys, hook_deliveries, hook_usage, hook_secrets, hooks;
DROP FUNCTION count_hook_deliveries;
