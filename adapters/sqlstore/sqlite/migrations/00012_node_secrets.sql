-- What signs the calls of custom nodes, and what the last heartbeat to each found.

-- +goose Up
CREATE TABLE node_secrets (
    tenant_id       text NOT NULL PRIMARY KEY CONSTRAINT node_secrets_tenant REFERENCES tenants ON DELETE CASCADE,
    secret          text NOT NULL,
    retired_secrets text NOT NULL,
    created_at      timestamp NOT NULL,
    revision        integer NOT NULL
);

-- +goose StatementBegin
CREATE TRIGGER node_secrets_told_insert AFTER INSERT ON node_secrets BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER node_secrets_told_update AFTER UPDATE ON node_secrets BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER node_secrets_told_delete AFTER DELETE ON node_secrets BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', OLD.tenant_id);
END;
-- +goose StatementEnd

-- Beside the custom nodes, because a heartbeat changes none: nobody is told of it.
CREATE TABLE custom_node_health (
    tenant_id  text NOT NULL,
    node_id    text NOT NULL,
    endpoint   text NOT NULL,
    is_healthy boolean NOT NULL,
    checked_at timestamp NOT NULL,
    latency_ms integer NOT NULL,
    code       text NOT NULL,
    message    text NOT NULL,
    PRIMARY KEY (tenant_id, node_id),
    CONSTRAINT custom_node_health_node FOREIGN KEY (tenant_id, node_id) REFERENCES custom_nodes ON DELETE CASCADE
);

-- +goose Down
DROP TABLE custom_node_health;
DROP TABLE node_secrets;
