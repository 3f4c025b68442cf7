-- What the gateway itself keeps secret, the same for all its processes.

-- +goose Up
CREATE TABLE gateway_keys (
    name text NOT NULL PRIMARY KEY,
    bits text NOT NULL
);

-- +goose Down
DROP TABLE gateway_keys;
