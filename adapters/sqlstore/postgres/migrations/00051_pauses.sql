-- Questions that wait for a person.
--
-- One row of pauses for each question that a run waits for the answer to. They follow from runs.progress, whoever
-- writes it: gateways of 0.1.0 serve meanwhile, go on after it and know nothing of them. question is what the
-- person is asked as JSON; null where a gateway of 0.1.0 asked. Times are milliseconds since 1970. A run
-- that waits for a person waits for any event, so that steps of the others cost nothing here. What nodes
-- gave may hold U+0000, which PostgreSQL cannot look into, and is not looked at.
-- Each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS pauses (
    tenant_id     text NOT NULL,
    run_id        text NOT NULL,
    seq           bigint NOT NULL,
    id            text COLLATE "C" NOT NULL,
    node_id       text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    workflow_id   text NOT NULL,
    entity_id     text COLLATE "C" NOT NULL,
    assignee      text COLLATE "C" NOT NULL,
    since         bigint NOT NULL,
    until         bigint,
    question      text,
    PRIMARY KEY (tenant_id, run_id, seq)
);
CREATE INDEX IF NOT EXISTS pauses_by_creation ON pauses (tenant_id, since, id);
CREATE INDEX IF NOT EXISTS pauses_of_assignee ON pauses (tenant_id, assignee, since, id);
CREATE INDEX IF NOT EXISTS pauses_of_entity ON pauses (tenant_id, entity_id, since, id);
CREATE INDEX IF NOT EXISTS pauses_of_sub_tenant ON pauses (tenant_id, sub_tenant_id, since, id);
CREATE INDEX IF NOT EXISTS pauses_of_workflow ON pauses (tenant_id, workflow_id, since, id);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION keep_pauses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM pauses WHERE tenant_id = OLD.tenant_id AND run_id = OLD.id;
    IF TG_OP = 'UPDATE' AND NEW.awaited IN ('=', '*') THEN
        INSERT INTO pauses (tenant_id, run_id, seq, id, node_id, sub_tenant_id, workflow_id, entity_id, assignee, since, until, question)
        SELECT NEW.tenant_id, NEW.id, CAST(p ->> 'seq' AS bigint), 'pau_' || substr(NEW.id, 5) || (p ->> 'seq'), n ->> 'id', NEW.sub_tenant_id, NEW.workflow_id, NEW.entity_id,
            coalesce(p -> 'question' ->> 'assignee', ''), CAST(p ->> 'since' AS bigint), CAST(p ->> 'until' AS bigint), p ->> 'question'
        FROM json_array_elements(replace(NEW.progress, '\u0000', '\ufffd')::json -> 'nodes') AS nodes (n), LATERAL (SELECT n -> 'pause') AS waits (p)
        WHERE n ->> 'status' = 'waiting' AND p ->> 'kind' = 'input';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CALL change_under_load($change$
    CREATE OR REPLACE TRIGGER runs_pauses AFTER UPDATE OF progress ON runs FOR EACH ROW WHEN (OLD.awaited IN ('=', '*') OR NEW.awaited IN ('=', '*')) EXECUTE FUNCTION keep_pauses();
    CREATE OR REPLACE TRIGGER runs_pauses_deleted AFTER DELETE ON runs FOR EACH ROW WHEN (OLD.awaited IN ('=', '*')) EXECUTE FUNCTION keep_pauses();
$change$);
-- +goose StatementEnd

-- Those that wait already: a run is locked while its pauses are written, a few hundred at a time.
-- +goose StatementBegin
DO $$
DECLARE
    last_tenant text := '';
    last_run text := '';
BEGIN
    LOOP
        WITH batch AS (
            SELECT tenant_id, id FROM live_runs WHERE (tenant_id, id) > (last_tenant, last_run) ORDER BY tenant_id, id LIMIT 500
        ), written AS (
            UPDATE runs u SET progress = u.progress FROM batch WHERE u.tenant_id = batch.tenant_id AND u.id = batch.id AND u.awaited IN ('=', '*')
        )
        SELECT tenant_id, id INTO last_tenant, last_run FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1;
        EXIT WHEN NOT FOUND;
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER runs_pauses ON runs;
DROP TRIGGER runs_pauses_deleted ON runs;
DROP FUNCTION keep_pauses;
DROP TABLE pauses;
