-- An index of runs that nothing reads any more: what is to be claimed is found by
-- runs_ready and runs_timed. Every step of a run wrote an entry into it.

-- +goose Up
DROP INDEX runs_free;

-- +goose Down
CREATE INDEX runs_free ON runs (tenant_id, free_at, id) WHERE free_at IS NOT NULL;
