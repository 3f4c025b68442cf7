-- What the gateway itself keeps secret, the same for all its processes.

-- +goose Up
CREATE TABLE gateway_keys (
    name text NOT NULL PRIMARY KEY,
    bits text NOT NULL
);

-- Gateways fire schedules from this version on: what was due while none did is not
-- caught up with.
UPDATE trigger_schedules SET dealt_with = now(), next_at = now() WHERE next_at IS NOT NULL;

-- +goose Down
DROP TABLE gateway_keys;
