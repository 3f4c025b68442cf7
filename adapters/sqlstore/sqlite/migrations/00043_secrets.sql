-- Secrets at rest.

-- +goose Up

-- At most one row: the keyset that encrypts secrets, wrapped by a key that is kept elsewhere, in base64. Processes that
-- know an older revision read it again. rotated_at is when its newest key was made; sealed_all says
-- that since then everything was sealed by that key.
CREATE TABLE secret_keyset (
    id         smallint NOT NULL PRIMARY KEY CONSTRAINT secret_keyset_one CHECK (id = 1),
    revision   bigint NOT NULL,
    wrapped    text NOT NULL,
    rotated_at timestamp NOT NULL,
    sealed_all integer NOT NULL
);

-- +goose Down
DROP TABLE secret_keyset;
