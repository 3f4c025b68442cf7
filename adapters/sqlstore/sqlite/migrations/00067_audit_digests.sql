-- The hash of what an entry of the audit log says is kept while it waits, so that the sealer need not read the entry.
--
-- said has one salt for all values of an entry, and no hashes, until one of the values is erased: then it is the array
-- of each value with its salt and its hash.

-- +goose Up
ALTER TABLE audit_waiting ADD COLUMN digest blob;

-- +goose Down
ALTER TABLE audit_waiting DROP COLUMN digest;
