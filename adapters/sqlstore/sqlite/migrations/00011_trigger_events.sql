-- Which event a trigger of type webhook listens for, so that those of one event are
-- found among many.

-- +goose Up
ALTER TABLE triggers ADD COLUMN event text;
UPDATE triggers SET event = json_extract(config, '$.webhookConfig.event')
WHERE type = 'webhook' AND json_type(config, '$.webhookConfig.event') = 'text' AND length(json_extract(config, '$.webhookConfig.event')) BETWEEN 1 AND 255;
CREATE INDEX triggers_by_event ON triggers (tenant_id, event, created_at, id) WHERE event IS NOT NULL;

-- +goose Down
DROP INDEX triggers_by_event;
ALTER TABLE triggers DROP COLUMN event;
