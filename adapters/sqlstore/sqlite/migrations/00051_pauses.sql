-- Questions that wait for a person.
--
-- One row of pauses for each question that a run waits for the answer to. They follow from runs.progress, whoever
-- writes it: gateways of 0.1.0 go on after it and know nothing of them. question is what the person is
-- asked as JSON; null where a gateway of 0.1.0 asked. Times are milliseconds since 1970. A run that waits
-- for a person waits for any event, so that steps of the others cost nothing here.

-- +goose Up
CREATE TABLE pauses (
    tenant_id     text NOT NULL,
    run_id        text NOT NULL,
    seq           integer NOT NULL,
    id            text NOT NULL,
    node_id       text NOT NULL,
    sub_tenant_id text NOT NULL,
    workflow_id   text NOT NULL,
    entity_id     text NOT NULL,
    assignee      text NOT NULL,
    since         integer NOT NULL,
    until         integer,
    question      text,
    PRIMARY KEY (tenant_id, run_id, seq)
);
CREATE INDEX pauses_by_creation ON pauses (tenant_id, since, id);
CREATE INDEX pauses_of_assignee ON pauses (tenant_id, assignee, since, id);
CREATE INDEX pauses_of_entity ON pauses (tenant_id, entity_id, since, id);
CREATE INDEX pauses_of_sub_tenant ON pauses (tenant_id, sub_tenant_id, since, id);
CREATE INDEX pauses_of_workflow ON pauses (tenant_id, workflow_id, since, id);

-- +goose StatementBegin
CREATE TRIGGER runs_pauses AFTER UPDATE OF progress ON runs WHEN OLD.awaited IN ('=', '*') OR NEW.awaited IN ('=', '*') BEGIN
    DELETE FROM pauses WHERE tenant_id = OLD.tenant_id AND run_id = OLD.id;
    INSERT INTO pauses (tenant_id, run_id, seq, id, node_id, sub_tenant_id, workflow_id, entity_id, assignee, since, until, question)
    SELECT NEW.tenant_id, NEW.id, CAST(n.value ->> '$.pause.seq' AS integer), 'pau_' || substr(NEW.id, 5) || (n.value ->> '$.pause.seq'), n.value ->> '$.id',
        NEW.sub_tenant_id, NEW.workflow_id, NEW.entity_id, coalesce(n.value ->> '$.pause.question.assignee', ''), n.value ->> '$.pause.since', n.value ->> '$.pause.until',
        n.value -> '$.pause.question'
    FROM json_each(NEW.progress, '$.nodes') n
    WHERE NEW.awaited IN ('=', '*') AND n.value ->> '$.status' = 'waiting' AND n.value ->> '$.pause.kind' = 'input';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runs_pauses_deleted AFTER DELETE ON runs WHEN OLD.awaited IN ('=', '*') BEGIN
    DELETE FROM pauses WHERE tenant_id = OLD.tenant_id AND run_id = OLD.id;
END;
-- +goose StatementEnd

UPDATE runs SET progress = progress WHERE status IN ('paused', 'running') AND awaited IN ('=', '*');

-- +goose Down
DROP TRIGGER runs_pauses_deleted;
DROP TRIGGER runs_pauses;
DROP TABLE pauses;
