-- What an erasure has removed: one row of erased_runs for each run, while it is running, so that it knows what is kept of
-- hooks and for repeated requests about them. Runs that were removed by others are not its own.

-- +goose Up
CREATE TABLE erased_runs (
    tenant_id text NOT NULL,
    job_id    text NOT NULL,
    run_id    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, job_id, run_id),
    CONSTRAINT erased_runs_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs ON DELETE CASCADE
);

-- +goose Down
DROP TABLE erased_runs;
