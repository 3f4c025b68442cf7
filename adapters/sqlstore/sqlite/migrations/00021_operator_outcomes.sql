-- What the operator's commands with an idempotency key answered that concern no tenant
-- yet, written in the transaction that had their effect. They refer to no tenant, so that
-- a late repeat does not make again what was deleted meanwhile.

-- +goose Up
CREATE TABLE operator_outcomes (
    scope       text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,
    answer      blob NOT NULL,
    created_at  timestamp NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX operator_outcomes_by_creation ON operator_outcomes (created_at);

-- +goose Down
DROP TABLE operator_outcomes;
