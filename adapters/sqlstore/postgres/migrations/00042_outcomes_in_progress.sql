-- Commands whose effect is outside of the database, and that may still be under way.
--
-- in_progress_until is until when a repeat of the command is refused; null once it has ended, and for commands
-- whose outcome and effect were committed together. Gateways of 0.1.0 have no command of the first kind.

-- +goose NO TRANSACTION
-- +goose Up
CALL change_under_load($$ALTER TABLE outcomes ADD COLUMN IF NOT EXISTS in_progress_until timestamptz$$);

-- +goose Down
CALL change_under_load($$ALTER TABLE outcomes DROP COLUMN IF EXISTS in_progress_until$$);
