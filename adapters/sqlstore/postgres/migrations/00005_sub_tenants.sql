-- +goose Up
CREATE TABLE sub_tenants (
    tenant_id     text NOT NULL CONSTRAINT sub_tenants_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    description   text,
    search_text   text NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX sub_tenants_identifier ON sub_tenants (tenant_id, sub_tenant_id);
CREATE INDEX sub_tenants_by_creation ON sub_tenants (tenant_id, created_at, id);

-- +goose Down
DROP TABLE sub_tenants;
