-- engine is what moves a run on: this database alone ('table'), or Temporal as well ('temporal'). It is
-- that of the gateway that started the run.

-- +goose Up
ALTER TABLE runs ADD COLUMN engine text NOT NULL DEFAULT 'table';
ALTER TABLE live_runs ADD COLUMN engine text NOT NULL DEFAULT 'table';

-- +goose Down
ALTER TABLE live_runs DROP COLUMN engine;
ALTER TABLE runs DROP COLUMN engine;
