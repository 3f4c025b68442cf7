-- Runs that other runs start.
--
-- runs.parent_run_id is the run that started one, empty for none, and parent_node_id the node of it
-- whose effect the run is. parent_waits says that the node waits for its end. depth is how many
-- runs are above it. live_runs.woken is how often something has become of a run's children or
-- parent, at which a worker has to look.
-- webhook_events.of_child marks events of such runs, which only endpoints with include_children get.
--
-- Indexes that lists use get the parent at their end, so that those of runs without one are counted
-- in the index alone. Gateways of 0.1.0 serve meanwhile and go on after it. No lock on a table is
-- waited for by others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
CALL change_under_load($change$
    ALTER TABLE runs ADD COLUMN IF NOT EXISTS parent_run_id text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS parent_node_id text NOT NULL DEFAULT '',
        ADD COLUMN IF NOT EXISTS parent_waits boolean NOT NULL DEFAULT false, ADD COLUMN IF NOT EXISTS depth smallint NOT NULL DEFAULT 0;
$change$);
-- +goose StatementEnd
CALL change_under_load($$ALTER TABLE live_runs ADD COLUMN IF NOT EXISTS woken bigint NOT NULL DEFAULT 0$$);
CALL change_under_load($$ALTER TABLE run_facets ADD COLUMN IF NOT EXISTS parent_run_id text NOT NULL DEFAULT ''$$);
CALL change_under_load($$ALTER TABLE webhook_endpoints ADD COLUMN IF NOT EXISTS include_children boolean NOT NULL DEFAULT false$$);
CALL change_under_load($$ALTER TABLE webhook_events ADD COLUMN IF NOT EXISTS of_child boolean NOT NULL DEFAULT false$$);

-- What an interruption leaves of an index is none, but has its name.
DROP INDEX CONCURRENTLY IF EXISTS runs_of_parent;
CREATE INDEX CONCURRENTLY runs_of_parent ON runs (tenant_id, parent_run_id) WHERE parent_run_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_creation;
CREATE INDEX CONCURRENTLY run_facets_by_creation ON run_facets (tenant_id, created_at, id, parent_run_id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_of_parent;
CREATE INDEX CONCURRENTLY run_facets_of_parent ON run_facets (tenant_id, parent_run_id, created_at, id) WHERE parent_run_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS runs_by_status;
CREATE INDEX CONCURRENTLY runs_by_status ON runs (tenant_id, status, created_at, id, parent_run_id) WHERE status <> 'pending';
DROP INDEX CONCURRENTLY IF EXISTS runs_of_status;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_sub_tenant;
CREATE INDEX CONCURRENTLY run_facets_by_sub_tenant ON run_facets (tenant_id, sub_tenant_id, created_at, id, parent_run_id) WHERE sub_tenant_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS run_facets_sub_tenant;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_workflow;
CREATE INDEX CONCURRENTLY run_facets_by_workflow ON run_facets (tenant_id, workflow_id, created_at, id, parent_run_id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_workflow;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_version;
CREATE INDEX CONCURRENTLY run_facets_by_version ON run_facets (tenant_id, workflow_version_id, created_at, id, parent_run_id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_version;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_trigger;
CREATE INDEX CONCURRENTLY run_facets_by_trigger ON run_facets (tenant_id, trigger_id, created_at, id, parent_run_id) WHERE trigger_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS run_facets_trigger;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_entity;
CREATE INDEX CONCURRENTLY run_facets_by_entity ON run_facets (tenant_id, entity_id, created_at, id, parent_run_id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_entity;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS runs_of_status;
CREATE INDEX CONCURRENTLY runs_of_status ON runs (tenant_id, status, created_at, id) WHERE status <> 'pending';
DROP INDEX CONCURRENTLY IF EXISTS runs_by_status;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_sub_tenant;
CREATE INDEX CONCURRENTLY run_facets_sub_tenant ON run_facets (tenant_id, sub_tenant_id, created_at, id) WHERE sub_tenant_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_sub_tenant;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_workflow;
CREATE INDEX CONCURRENTLY run_facets_workflow ON run_facets (tenant_id, workflow_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_workflow;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_version;
CREATE INDEX CONCURRENTLY run_facets_version ON run_facets (tenant_id, workflow_version_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_version;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_trigger;
CREATE INDEX CONCURRENTLY run_facets_trigger ON run_facets (tenant_id, trigger_id, created_at, id) WHERE trigger_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_trigger;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_entity;
CREATE INDEX CONCURRENTLY run_facets_entity ON run_facets (tenant_id, entity_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_entity;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_parent;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_by_creation;
DROP INDEX CONCURRENTLY IF EXISTS run_facets_of_parent;
ALTER TABLE webhook_events DROP COLUMN of_child;
ALTER TABLE webhook_endpoints DROP COLUMN include_children;
ALTER TABLE run_facets DROP COLUMN parent_run_id;
ALTER TABLE live_runs DROP COLUMN woken;
ALTER TABLE runs DROP COLUMN parent_run_id, DROP COLUMN parent_node_id, DROP COLUMN parent_waits, DROP COLUMN depth;
