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
-- Gateways of 0.1.0 go on after it: they know nothing of hooks, and delete them with their triggers.

-- +goose Up
CREATE TABLE hooks (
    tenant_id     text NOT NULL,
    trigger_id    text NOT NULL,
    sub_tenant_id text NOT NULL,
    config        text NOT NULL,
    is_active     boolean NOT NULL,
    token_hash    text NOT NULL,
    token_hint    text NOT NULL,
    retired_hash  text,
    retired_until timestamp,
    created_at    timestamp NOT NULL,
    updated_at    timestamp NOT NULL,
    revision      integer NOT NULL,
    CONSTRAINT hooks_taken PRIMARY KEY (tenant_id, trigger_id),
    CONSTRAINT hooks_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE UNIQUE INDEX hooks_token ON hooks (token_hash);
CREATE UNIQUE INDEX hooks_retired_token ON hooks (retired_hash) WHERE retired_hash IS NOT NULL;

CREATE TABLE hook_secrets (
    tenant_id     text NOT NULL,
    connection_id text NOT NULL,
    trigger_id    text NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, trigger_id),
    CONSTRAINT hook_secrets_hook FOREIGN KEY (tenant_id, trigger_id) REFERENCES hooks ON DELETE CASCADE
);
CREATE INDEX hook_secrets_by_hook ON hook_secrets (tenant_id, trigger_id);

CREATE TABLE hook_usage (
    tenant_id  text NOT NULL,
    trigger_id text NOT NULL,
    kept       integer NOT NULL,
    bytes      integer NOT NULL,
    refused    integer NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id),
    CONSTRAINT hook_usage_hook FOREIGN KEY (tenant_id, trigger_id) REFERENCES hooks ON DELETE CASCADE
);

CREATE TABLE hook_deliveries (
    tenant_id   text NOT NULL,
    trigger_id  text NOT NULL,
    id          text NOT NULL,
    received_at timestamp NOT NULL,
    verdict     text NOT NULL,
    code        text NOT NULL,
    refused     boolean NOT NULL,
    runs        text NOT NULL,
    items       integer NOT NULL,
    replay_of   text NOT NULL,
    size        integer NOT NULL,
    sealed      text NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id, id),
    CONSTRAINT hook_deliveries_hook FOREIGN KEY (tenant_id, trigger_id) REFERENCES hooks ON DELETE CASCADE
);
CREATE INDEX hook_deliveries_received ON hook_deliveries (tenant_id, received_at);

CREATE TABLE hook_keys (
    tenant_id text NOT NULL,
    key       text NOT NULL,
    run_id    text NOT NULL,
    taken_at  timestamp NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX hook_keys_taken ON hook_keys (taken_at);

-- +goose StatementBegin
CREATE TRIGGER hook_deliveries_added AFTER INSERT ON hook_deliveries BEGIN
    UPDATE hook_usage SET kept = kept + (NOT NEW.refused), bytes = bytes + NEW.size * (NOT NEW.refused), refused = refused + NEW.refused
        WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.trigger_id;
    INSERT INTO tenant_storage (tenant_id, shard, bytes) SELECT NEW.tenant_id, 0, NEW.size WHERE NOT NEW.refused
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hook_deliveries_removed AFTER DELETE ON hook_deliveries BEGIN
    UPDATE hook_usage SET kept = kept - (NOT OLD.refused), bytes = bytes - OLD.size * (NOT OLD.refused), refused = refused - OLD.refused
        WHERE tenant_id = OLD.tenant_id AND trigger_id = OLD.trigger_id;
    UPDATE tenant_storage SET bytes = bytes - OLD.size WHERE tenant_id = OLD.tenant_id AND shard = 0 AND NOT OLD.refused;
END;
-- +goose StatementEnd

ALTER TABLE runs ADD COLUMN replay_of text;

-- +goose Down
ALTER TABLE runs DROP COLUMN replay_of;
DROP TABLE hook_keys;
DROP TABLE hook_deliveries;
DROP TABLE hook_usage;
DROP TABLE hook_secrets;
DROP TABLE hooks;
