-- What the gateway tells tenants: events, the endpoints that want them, and the delivery
-- of each event to each endpoint.

-- +goose Up
CREATE TABLE webhook_endpoints (
    tenant_id       text        NOT NULL CONSTRAINT webhook_endpoints_tenant REFERENCES tenants ON DELETE CASCADE,
    id              text        NOT NULL,
    sub_tenant_id   text COLLATE "C" NOT NULL,
    url             text        NOT NULL,
    description     text,
    search_text     text        NOT NULL,
    events          text        NOT NULL,
    is_active       boolean     NOT NULL,
    secret          text        NOT NULL,
    retired_secrets text        NOT NULL,
    failing_since   timestamptz,
    disabled_at     timestamptz,
    disabled_reason text        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    revision        bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX webhook_endpoints_by_creation ON webhook_endpoints (tenant_id, created_at, id);

-- An event waits until its deliveries are made, and is kept with them after that.
CREATE TABLE webhook_events (
    tenant_id     text        NOT NULL CONSTRAINT webhook_events_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text        NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    type          text        NOT NULL,
    happened_at   timestamptz NOT NULL,
    data          text        NOT NULL,
    waits         boolean     NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX webhook_events_waiting ON webhook_events (tenant_id, happened_at, id) WHERE waits;
CREATE INDEX webhook_events_by_time ON webhook_events (happened_at);

-- free_at is when a pending delivery can be lent to somebody who sends it.
CREATE TABLE webhook_deliveries (
    tenant_id       text        NOT NULL,
    id              text        NOT NULL,
    endpoint_id     text        NOT NULL,
    event_id        text        NOT NULL,
    event_type      text        NOT NULL,
    status          text        NOT NULL,
    attempts        text        NOT NULL,
    attempted       integer     NOT NULL,
    next_attempt_at timestamptz,
    is_manual       boolean     NOT NULL,
    leased_until    timestamptz,
    delivered_at    timestamptz,
    reason          text        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    revision        bigint      NOT NULL,
    free_at         timestamptz GENERATED ALWAYS AS (greatest(next_attempt_at, leased_until)) STORED,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_endpoint FOREIGN KEY (tenant_id, endpoint_id) REFERENCES webhook_endpoints ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_event FOREIGN KEY (tenant_id, event_id) REFERENCES webhook_events ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_by_creation ON webhook_deliveries (tenant_id, endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_of_event ON webhook_deliveries (tenant_id, event_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (tenant_id, endpoint_id, next_attempt_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (tenant_id, endpoint_id, leased_until) WHERE status = 'pending' AND leased_until IS NOT NULL;
CREATE INDEX webhook_deliveries_free ON webhook_deliveries (free_at) WHERE status = 'pending';

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE webhook_events;
DROP TABLE webhook_endpoints;
