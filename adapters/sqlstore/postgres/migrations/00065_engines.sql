-- engine is what moves a run on: this database alone ('table'), or Temporal as well ('temporal'). It is
-- that of the gateway that started the run. Processes that do not serve an engine leave its runs alone;
-- those of 0.1.0 do because such runs need a later level.
--
-- No lock on a table is waited for by others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
CALL change_under_load($$ALTER TABLE runs ADD COLUMN IF NOT EXISTS engine text NOT NULL DEFAULT 'table'$$);
CALL change_under_load($$ALTER TABLE live_runs ADD COLUMN IF NOT EXISTS engine text NOT NULL DEFAULT 'table'$$);

-- +goose Down
ALTER TABLE live_runs DROP COLUMN engine;
ALTER TABLE runs DROP COLUMN engine;
