-- Large outputs of nodes. They are written once, apart from what every step writes anew;
-- runs.outputs is how many bytes of them a run has.

-- +goose Up
ALTER TABLE runs ADD COLUMN outputs integer NOT NULL DEFAULT 0;
CREATE TABLE run_outputs (
    tenant_id text NOT NULL,
    run_id    text NOT NULL,
    node_id   text NOT NULL,
    output    text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, node_id),
    CONSTRAINT run_outputs_run FOREIGN KEY (tenant_id, run_id) REFERENCES runs ON DELETE CASCADE
);

-- +goose Down
DROP TABLE run_outputs;
ALTER TABLE runs DROP COLUMN outputs;
