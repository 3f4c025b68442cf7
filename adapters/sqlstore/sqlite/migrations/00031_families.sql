-- Runs that other runs start.
--
-- runs.parent_run_id is the run that started one, empty for none, and parent_node_id the node of it
-- whose effect the run is. parent_waits says that the node waits for its end. depth is how many
-- runs are above it. live_runs.woken is how often something has become of a run's children or
-- parent, at which a worker has to look.
-- webhook_events.of_child marks events of such runs, which only endpoints with include_children get.
--
-- Indexes that lists use get the parent at their end, so that those of runs without one are counted
-- in the index alone. Gateways of 0.1.0 go on after it.

-- +goose Up
ALTER TABLE runs ADD COLUMN parent_run_id text NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN parent_node_id text NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN parent_waits boolean NOT NULL DEFAULT false;
ALTER TABLE runs ADD COLUMN depth integer NOT NULL DEFAULT 0;
ALTER TABLE live_runs ADD COLUMN woken integer NOT NULL DEFAULT 0;
ALTER TABLE webhook_endpoints ADD COLUMN include_children boolean NOT NULL DEFAULT false;
ALTER TABLE webhook_events ADD COLUMN of_child boolean NOT NULL DEFAULT false;
CREATE INDEX runs_of_parent ON runs (tenant_id, parent_run_id, created_at, id) WHERE parent_run_id <> '';
DROP INDEX runs_awaiting;
DROP INDEX runs_awaiting_event;
DROP INDEX runs_of_status;
CREATE INDEX runs_of_status ON runs (tenant_id, status, created_at, id, parent_run_id);
DROP INDEX runs_by_creation;
CREATE INDEX runs_by_creation ON runs (tenant_id, created_at, id, parent_run_id);
DROP INDEX runs_of_sub_tenant;
CREATE INDEX runs_of_sub_tenant ON runs (tenant_id, sub_tenant_id, created_at, id, parent_run_id);
DROP INDEX runs_of_workflow;
CREATE INDEX runs_of_workflow ON runs (tenant_id, workflow_id, created_at, id, parent_run_id);
DROP INDEX runs_of_version;
CREATE INDEX runs_of_version ON runs (tenant_id, workflow_version_id, created_at, id, parent_run_id);
DROP INDEX runs_of_trigger;
CREATE INDEX runs_of_trigger ON runs (tenant_id, trigger_id, created_at, id, parent_run_id) WHERE trigger_id <> '';
DROP INDEX runs_of_entity;
CREATE INDEX runs_of_entity ON runs (tenant_id, entity_id, created_at, id, parent_run_id);
-- After runs_of_entity: of two indexes that would do, SQLite takes the newer one.
CREATE INDEX runs_awaiting ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running') AND awaited IS NOT NULL;
CREATE INDEX runs_awaiting_event ON runs (tenant_id, entity_id, awaited, created_at, id) WHERE status IN ('paused', 'running') AND awaited IS NOT NULL;

-- +goose Down
DROP INDEX runs_awaiting;
DROP INDEX runs_awaiting_event;
DROP INDEX runs_of_status;
CREATE INDEX runs_of_status ON runs (tenant_id, status, created_at, id);
DROP INDEX runs_by_creation;
CREATE INDEX runs_by_creation ON runs (tenant_id, created_at, id);
DROP INDEX runs_of_sub_tenant;
CREATE INDEX runs_of_sub_tenant ON runs (tenant_id, sub_tenant_id, created_at, id);
DROP INDEX runs_of_workflow;
CREATE INDEX runs_of_workflow ON runs (tenant_id, workflow_id, created_at, id);
DROP INDEX runs_of_version;
CREATE INDEX runs_of_version ON runs (tenant_id, workflow_version_id, created_at, id);
DROP INDEX runs_of_trigger;
CREATE INDEX runs_of_trigger ON runs (tenant_id, trigger_id, created_at, id) WHERE trigger_id <> '';
DROP INDEX runs_of_entity;
CREATE INDEX runs_of_entity ON runs (tenant_id, entity_id, created_at, id);
-- After runs_of_entity: of two indexes that would do, SQLite takes the newer one.
CREATE INDEX runs_awaiting ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running') AND awaited IS NOT NULL;
CREATE INDEX runs_awaiting_event ON runs (tenant_id, entity_id, awaited, created_at, id) WHERE status IN ('paused', 'running') AND awaited IS NOT NULL;
DROP INDEX runs_of_parent;
ALTER TABLE webhook_events DROP COLUMN of_child;
ALTER TABLE webhook_endpoints DROP COLUMN include_children;
ALTER TABLE live_runs DROP COLUMN woken;
ALTER TABLE runs DROP COLUMN depth;
ALTER TABLE runs DROP COLUMN parent_waits;
ALTER TABLE runs DROP COLUMN parent_node_id;
ALTER TABLE runs DROP COLUMN parent_run_id;
