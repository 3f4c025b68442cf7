-- The hash of what an entry of the audit log says is kept while it waits, so that the sealer need not read the entry.
--
-- said has one salt for all values of an entry, and no hashes, until one of the values is erased: then it is the array
-- of each value with its salt and its hash. Nobody looks for an entry by its identifier alone, and so the primary
-- key goes, which each sealed entry went into. Each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE audit_waiting ADD COLUMN IF NOT EXISTS digest bytea;
ALTER TABLE audit_entries DROP CONSTRAINT IF EXISTS audit_entries_pkey;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_pkey; -- what an interruption leaves of it is no index, but has its name
CREATE UNIQUE INDEX CONCURRENTLY audit_entries_pkey ON audit_entries (tenant_id, id);
ALTER TABLE audit_entries ADD PRIMARY KEY USING INDEX audit_entries_pkey;
ALTER TABLE audit_waiting DROP COLUMN IF EXISTS digest;
