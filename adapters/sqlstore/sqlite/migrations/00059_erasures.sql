-- Erasures: jobs that remove what is about somebody.
--
-- jobs.erasure is, as JSON, what it is about, how far it is, and what it has removed; null for other jobs. While it is running,
-- jobs.filter says whom it is about, and job_runs has runs that it has found and not removed yet.
--
-- Gateways of 0.1.0 go on after it: they know nothing of jobs.

-- +goose Up
ALTER TABLE jobs ADD COLUMN erasure text;

-- +goose Down
ALTER TABLE jobs DROP COLUMN erasure;
