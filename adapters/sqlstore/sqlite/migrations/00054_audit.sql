-- What changed, by whom.
--
-- One row of audit_entries for each change, written in the unit of the change. said is who it was, from where and what
-- changed, as JSON: an array of [name, old value, new value, salt, hash]. seq and hash are its place in the chain of its
-- tenant; null until it is sealed. audit_heads is where each chain ends and begins. The operator's log has an empty
-- tenant_id, so that there is no reference to tenants.
--
-- Gateways of 0.1.0 go on after it: what is changed through them has no entry.

-- +goose Up
CREATE TABLE audit_entries (
    tenant_id   text NOT NULL,
    id          text NOT NULL,
    at          timestamp NOT NULL,
    actor_kind  text NOT NULL,
    actor_id    text NOT NULL,
    action      text NOT NULL,
    target_kind text NOT NULL,
    target_id   text NOT NULL,
    request_id  text NOT NULL,
    said        text NOT NULL,
    seq         integer,
    hash        blob,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_entries_by_time ON audit_entries (tenant_id, at, id);
CREATE INDEX audit_entries_of_actor ON audit_entries (tenant_id, actor_id, at, id);
CREATE INDEX audit_entries_of_target ON audit_entries (tenant_id, target_id, at, id);
CREATE INDEX audit_entries_unsealed ON audit_entries (tenant_id, at, id) WHERE seq IS NULL;
CREATE UNIQUE INDEX audit_entries_sealed ON audit_entries (tenant_id, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_entries_by_age ON audit_entries (at);

CREATE TABLE audit_heads (
    tenant_id   text NOT NULL PRIMARY KEY,
    seq         integer NOT NULL,
    hash        blob NOT NULL,
    pruned_seq  integer NOT NULL,
    pruned_hash blob NOT NULL,
    pruned_at   timestamp
);

-- +goose Down
DROP TABLE audit_heads;
DROP TABLE audit_entries;
