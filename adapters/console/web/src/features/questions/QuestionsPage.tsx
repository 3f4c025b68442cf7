import { useLingui } from "@lingui/react/macro";
import { Reply } from "lucide-react";
import { useState } from "react";
import { type Schemas, useAccount, useTenant } from "@/api";
import { entityOf, useItems, useReload, WorkflowFilter, WorkflowName } from "@/parts";
import { Badge, Button, buttonColumn, type Column, Link, ListPage, SearchFilter, Time, useSearchParameters } from "@/ui";
import { AnswerDialog } from "./AnswerDialog";
import { titleOf } from "./title";

type Pause = Schemas["OpenPause"];

export default function QuestionsPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const { user } = useAccount();
  const reload = useReload("/pauses");
  const [parameters, setParameters] = useSearchParameters();
  const [answering, setAnswering] = useState<Pause | null>(null);
  const isMine = parameters.assignee === user.email;
  const columns: Column<Pause>[] = [
    {
      head: t`Question`,
      cell: (pause) => (
        <div>
          <p className="font-medium">{titleOf(pause)}</p>
          {pause.question?.title && <p className="line-clamp-2 text-quiet">{pause.question.prompt}</p>}
        </div>
      ),
    },
    {
      head: t`About`,
      cell: (pause) => (
        <>
          <Link to={`/t/${id}/runs/${pause.runId}`}>{entityOf(pause) ?? <WorkflowName id={pause.workflowId} />}</Link>
          {entityOf(pause) && (
            <p className="text-quiet">
              <WorkflowName id={pause.workflowId} />
            </p>
          )}
        </>
      ),
      isMinor: true,
    },
    { head: t`Assigned to`, cell: ({ question }) => question?.assignee || <span className="text-quiet">—</span>, isMinor: true },
    { head: t`Asked`, cell: (pause) => <Time at={pause.createdAt} />, width: "short", isMinor: true },
    { head: t`Deadline`, cell: ({ until }) => (until ? <Deadline until={until} /> : t({ message: "none", context: "deadline" })), width: "short" },
    buttonColumn(
      (pause) =>
        can("approver") && (
          <Button
            icon={Reply}
            label={t({ message: "Answer", context: "to answer" })}
            aria-label={t`Answer ${titleOf(pause)}`}
            onClick={() => setAnswering(pause)}
          />
        ),
    ),
  ];
  return (
    <ListPage
      title={t`Questions`}
      description={t`What runs ask people, and wait for.`}
      query={useItems(api, "/pauses", ["assignee", "workflowId"])}
      columns={columns}
      filters={
        <>
          <SearchFilter name="assignee" label={t`Assigned to (the whole address)`} />
          <Button
            label={t`Mine`}
            aria-pressed={isMine}
            className={isMine ? "!border-accent text-accent" : ""}
            onClick={() => setParameters({ ...parameters, assignee: isMine ? undefined : user.email, offset: undefined })}
          />
          <WorkflowFilter />
        </>
      }
      empty={{
        title: t`Nothing waits for people`,
        text: t`A workflow with a node of the type input asks a person, and its question stands here until somebody answers it.`,
      }}
    >
      {answering && (
        <AnswerDialog
          pause={answering}
          onClose={() => setAnswering(null)}
          onDone={() => {
            setAnswering(null);
            void reload();
          }}
        />
      )}
    </ListPage>
  );
}

const soon = 3_600_000;

function Deadline({ until }: { until: string }) {
  const time = <Time at={until} />;
  return Date.parse(until) - Date.now() < soon ? <Badge tone="warn">{time}</Badge> : time;
}
