-- Secrets at rest.

-- +goose Up

-- At most one row: the keyset that encrypts secrets, wrapped by a key that is kept elsewhere, in base64. Processes that
-- know an older revision read it again. rotated_at is when its newest key was made. is_rotating says that it
-- was made by a rotation which has not come to its end, and is_complete that everything is sealed by it.
CREATE TABLE secret_keyset (
    id          smallint NOT NULL PRIMARY KEY CONSTRAINT secret_keyset_one CHECK (id = 1),
    revision    bigint NOT NULL,
    wrapped     text NOT NULL,
    rotated_at  timestamptz NOT NULL,
    is_rotating boolean NOT NULL,
    is_complete boolean NOT NULL
);

-- +goose Down
DROP TABLE secret_keyset;
