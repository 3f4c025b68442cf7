-- users.vouched_by is the tenant whose admin made the user, or was shown the link that somebody came in by; empty where the
-- address was made sure of. sign_in_links.shown_to is the tenant whose admin was shown a link; empty for nobody's.

-- +goose Up
ALTER TABLE users ADD COLUMN vouched_by text NOT NULL DEFAULT '';
ALTER TABLE sign_in_links ADD COLUMN shown_to text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sign_in_links DROP COLUMN shown_to;
ALTER TABLE users DROP COLUMN vouched_by;
