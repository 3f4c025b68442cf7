-- +goose Up
CREATE TABLE custom_nodes (
    tenant_id    text        NOT NULL CONSTRAINT custom_nodes_tenant REFERENCES tenants ON DELETE CASCADE,
    id           text        NOT NULL,
    type         text COLLATE "C" NOT NULL,
    version      text        NOT NULL,
    name         text COLLATE "C" NOT NULL,
    search_text  text        NOT NULL,
    description  text NOT NULL,
    input_schema  text        NOT NULL,
    output_schema text        NOT NULL,
    config_schema text        NOT NULL,
    endpoint     text NOT NULL,
    can_pause    boolean     NOT NULL,
    is_active    boolean     NOT NULL,
    translations text        NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    revision     bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX custom_nodes_type ON custom_nodes (tenant_id, type, version);

-- Every type and version that a tenant ever defined. What a version stands for never
-- changes, so it stays taken when its node moves on to a higher one or is deleted.
CREATE TABLE custom_node_versions (
    tenant_id text NOT NULL CONSTRAINT custom_node_versions_tenant REFERENCES tenants ON DELETE CASCADE,
    type      text NOT NULL,
    version   text NOT NULL,
    CONSTRAINT custom_node_versions_taken PRIMARY KEY (tenant_id, type, version)
);

-- +goose Down
DROP TABLE custom_node_versions;
DROP TABLE custom_nodes;
