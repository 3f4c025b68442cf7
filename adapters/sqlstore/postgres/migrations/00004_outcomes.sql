-- What commands with an idempotency key answered, written in the transaction that
-- had their effect.

-- +goose Up
CREATE TABLE outcomes (
    tenant_id   text        NOT NULL CONSTRAINT outcomes_tenant REFERENCES tenants ON DELETE CASCADE,
    scope       text        NOT NULL,
    key         text        NOT NULL,
    fingerprint text        NOT NULL,
    answer      bytea       NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, scope, key)
);
CREATE INDEX outcomes_by_creation ON outcomes (created_at);

-- +goose Down
DROP TABLE outcomes;
