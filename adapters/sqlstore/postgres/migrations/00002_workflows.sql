-- Every table of a tenant's records has the tenant in front of its primary key, and
-- every reference carries the tenant along: a record cannot point into another
-- tenant, whatever the code does.

-- search_text holds what the text filter looks in, in lower case: the name and,
-- where there is one, the description. Names sort by their bytes on every database.
-- An empty sub_tenant_id means that the record belongs to the tenant as a whole.

-- +goose Up
CREATE TABLE workflows (
    tenant_id     text        NOT NULL CONSTRAINT workflows_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text        NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    description   text,
    search_text   text        NOT NULL,
    is_active     boolean     NOT NULL,
    last_version  integer     NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX workflows_name ON workflows (tenant_id, sub_tenant_id, name);
CREATE INDEX workflows_by_creation ON workflows (tenant_id, created_at, id);
CREATE INDEX workflows_by_change ON workflows (tenant_id, updated_at, id);
CREATE INDEX workflows_by_name ON workflows (tenant_id, name, id);

CREATE TABLE workflow_versions (
    tenant_id     text        NOT NULL,
    id            text        NOT NULL,
    workflow_id   text        NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    number        integer     NOT NULL,
    graph         text        NOT NULL,
    is_active     boolean     NOT NULL,
    published_at  timestamptz,
    created_at    timestamptz NOT NULL,
    revision      bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT workflow_versions_workflow FOREIGN KEY (tenant_id, workflow_id) REFERENCES workflows ON DELETE CASCADE,
    CONSTRAINT workflow_versions_number UNIQUE (tenant_id, workflow_id, number)
);
CREATE UNIQUE INDEX workflow_versions_active ON workflow_versions (tenant_id, workflow_id) WHERE is_active;

CREATE TABLE triggers (
    tenant_id           text        NOT NULL,
    id                  text        NOT NULL,
    sub_tenant_id       text COLLATE "C" NOT NULL,
    workflow_version_id text        NOT NULL,
    name                text COLLATE "C" NOT NULL,
    search_text         text        NOT NULL,
    type                text        NOT NULL,
    config              text        NOT NULL,
    is_active           boolean     NOT NULL,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    revision            bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT triggers_version FOREIGN KEY (tenant_id, workflow_version_id) REFERENCES workflow_versions ON DELETE CASCADE
);
CREATE INDEX triggers_by_creation ON triggers (tenant_id, created_at, id);
CREATE INDEX triggers_by_version ON triggers (tenant_id, workflow_version_id);

-- +goose Down
DROP TABLE triggers;
DROP TABLE workflow_versions;
DROP TABLE workflows;
