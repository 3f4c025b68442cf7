-- Which key took a rotated one's place, so that a rotation that is repeated within the
-- grace does not give a key that ends with the grace. Keys that were rotated before do
-- not say.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN successor_id text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN successor_id;
