-- Which event a trigger of type webhook listens for, so that those of one event are
-- found among many.

-- +goose Up
ALTER TABLE triggers ADD COLUMN event text COLLATE "C";

-- A configuration holds texts that this database cannot: such an event is none.
-- +goose StatementBegin
CREATE FUNCTION pg_temp.event_of(config text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN json_typeof(config::json -> 'webhookConfig' -> 'event') = 'string'
        THEN nullif(left(config::json -> 'webhookConfig' ->> 'event', 256), '') END;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;
-- +goose StatementEnd
UPDATE triggers SET event = pg_temp.event_of(config) WHERE type = 'webhook' AND length(pg_temp.event_of(config)) <= 255;
DROP FUNCTION pg_temp.event_of(text);

CREATE INDEX triggers_by_event ON triggers (tenant_id, event, created_at, id) WHERE event IS NOT NULL;

-- +goose Down
DROP INDEX triggers_by_event;
ALTER TABLE triggers DROP COLUMN event;
