-- Large outputs of nodes. They are written once, apart from what every step writes anew;
-- runs.outputs is how many bytes of them a run has.

-- +goose Up
ALTER TABLE runs ADD COLUMN outputs bigint NOT NULL DEFAULT 0;
CREATE TABLE run_outputs (
    tenant_id text NOT NULL,
    run_id    text NOT NULL,
    node_id   text NOT NULL,
    output    text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, node_id)
);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION remove_run_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_history h USING gone g WHERE h.tenant_id = g.tenant_id AND h.run_id = g.id;
    DELETE FROM run_outputs o USING gone g WHERE g.outputs > 0 AND o.tenant_id = g.tenant_id AND o.run_id = g.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION remove_run_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_history h USING gone g WHERE h.tenant_id = g.tenant_id AND h.run_id = g.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
DROP TABLE run_outputs;
ALTER TABLE runs DROP COLUMN outputs;
