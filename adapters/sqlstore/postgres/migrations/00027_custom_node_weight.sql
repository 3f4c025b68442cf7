-- weight is about how many bytes of memory the custom node takes when it is read. Rows of a
-- gateway that does not know the column have 0.

-- +goose Up
ALTER TABLE custom_nodes ADD COLUMN weight bigint NOT NULL DEFAULT 0;
