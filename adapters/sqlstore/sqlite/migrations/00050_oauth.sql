-- OAuth: what authorization servers have given for connections, and who is asked for consent.
--
-- One row of connection_grants for each connection for which tokens were asked for. tokens is encrypted; it is
-- null while there are none. client is the fingerprint of whom they were issued to. renew_at is when they are renewed although nobody
-- uses them, lease_ends until when somebody asks for others. All times are by the clock of the database.
--
-- One row of consent_requests for each link to consent that was not used yet, found by the digest of its secret.
--
-- Gateways of 0.1.0 go on after it: they know nothing of connections.

-- +goose Up
CREATE TABLE connection_grants (
    tenant_id       text NOT NULL,
    connection_id   text NOT NULL,
    client          text NOT NULL,
    tokens          text,
    scopes          text NOT NULL,
    issued_at       timestamp,
    expires_at      timestamp,
    renew_at        timestamp,
    failure_code    text NOT NULL,
    failure_message text NOT NULL,
    failed_at       timestamp,
    retry_at        timestamp,
    lease_ends      timestamp,
    generation      bigint NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (tenant_id, connection_id),
    CONSTRAINT connection_grants_connection FOREIGN KEY (tenant_id, connection_id) REFERENCES connections ON DELETE CASCADE
);
CREATE INDEX connection_grants_renewal ON connection_grants (renew_at) WHERE renew_at IS NOT NULL;

CREATE TABLE consent_requests (
    tenant_id     text NOT NULL,
    digest        text NOT NULL,
    connection_id text NOT NULL,
    client        text NOT NULL,
    ends_at       timestamp NOT NULL,
    PRIMARY KEY (tenant_id, digest),
    CONSTRAINT consent_requests_connection FOREIGN KEY (tenant_id, connection_id) REFERENCES connections ON DELETE CASCADE
);
CREATE INDEX consent_requests_digest ON consent_requests (digest);
CREATE INDEX consent_requests_of ON consent_requests (tenant_id, connection_id, ends_at);

-- +goose Down
DROP TABLE consent_requests;
DROP TABLE connection_grants;
