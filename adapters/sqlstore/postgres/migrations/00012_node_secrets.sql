-- What signs the calls of custom nodes, and what the last heartbeat to each found.

-- +goose Up
CREATE TABLE node_secrets (
    tenant_id       text        NOT NULL PRIMARY KEY CONSTRAINT node_secrets_tenant REFERENCES tenants ON DELETE CASCADE,
    secret          text        NOT NULL,
    retired_secrets text        NOT NULL,
    created_at      timestamptz NOT NULL,
    revision        bigint      NOT NULL
);
CREATE TRIGGER node_secrets_change AFTER INSERT OR DELETE OR UPDATE ON node_secrets FOR EACH ROW EXECUTE FUNCTION tell_change();

-- Beside the custom nodes, because a heartbeat changes none: nobody is told of it.
CREATE TABLE custom_node_health (
    tenant_id  text        NOT NULL,
    node_id    text        NOT NULL,
    endpoint   text        NOT NULL,
    is_healthy boolean     NOT NULL,
    checked_at timestamptz NOT NULL,
    latency_ms bigint      NOT NULL,
    code       text        NOT NULL,
    message    text        NOT NULL,
    PRIMARY KEY (tenant_id, node_id),
    CONSTRAINT custom_node_health_node FOREIGN KEY (tenant_id, node_id) REFERENCES custom_nodes ON DELETE CASCADE
);

-- +goose Down
DROP TABLE custom_node_health;
DROP TABLE node_secrets;
