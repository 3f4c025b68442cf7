-- Jobs: work on many runs that a tenant asked for at once.
--
-- One row of jobs for each of them. sub_tenant_id is null where the whole tenant is within its reach.
-- filter and failures are JSON; cursor is the last run that it has come to. leased_until is by the
-- clock of the database; needs_level is for what later versions have jobs do. One row of job_runs for each run that a job has not come to yet.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they know nothing of jobs.

-- +goose Up
CREATE TABLE jobs (
    tenant_id     text NOT NULL CONSTRAINT jobs_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text COLLATE "C",
    action        text NOT NULL,
    filter        text NOT NULL,
    status        text NOT NULL,
    matched       integer NOT NULL,
    done          integer NOT NULL,
    failed        integer NOT NULL,
    failures      text NOT NULL,
    cursor        text COLLATE "C" NOT NULL,
    needs_level   smallint NOT NULL,
    leased_until  timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    finished_at   timestamptz,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX jobs_running ON jobs (tenant_id) WHERE status = 'running';
CREATE INDEX jobs_waiting ON jobs (leased_until) WHERE status = 'running';
CREATE INDEX jobs_by_creation ON jobs (tenant_id, created_at, id);
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE job_runs (
    tenant_id text NOT NULL,
    job_id    text NOT NULL,
    run_id    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, job_id, run_id),
    CONSTRAINT job_runs_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs ON DELETE CASCADE
);

-- +goose Down
DROP TABLE job_runs;
DROP TABLE jobs;
