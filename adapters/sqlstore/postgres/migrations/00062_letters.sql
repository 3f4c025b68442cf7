-- Links that wait to be mailed. A link is made when it is sent, so that none stands here. inviting is the tenant that
-- somebody is invited to, empty for the installation.

-- +goose Up
CREATE TABLE letters (
    id        text COLLATE "C" NOT NULL PRIMARY KEY,
    recipient text NOT NULL,
    purpose   text NOT NULL,
    inviting  text NOT NULL,
    attempts  integer NOT NULL,
    due_at    timestamptz NOT NULL,
    ends_at   timestamptz NOT NULL
);
CREATE INDEX letters_due ON letters (due_at, id);

-- +goose Down
DROP TABLE letters;
