-- Commands whose effect is outside of the database, and that may still be under way.
--
-- in_progress_until is until when a repeat of the command is refused; null once it has ended, and for commands
-- whose outcome and effect were committed together. Gateways of 0.1.0 have no command of the first kind.

-- +goose Up
ALTER TABLE outcomes ADD COLUMN in_progress_until timestamp;

-- +goose Down
ALTER TABLE outcomes DROP COLUMN in_progress_until;
