import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Reply } from "lucide-react";
import { useState } from "react";
import { type Schemas, useAccount, useTenant } from "@/api";
import {
  Badge,
  Button,
  type Column,
  Empty,
  Filters,
  Link,
  List,
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  toast,
  useSearchParameters,
} from "@/ui";
import { AnswerDialog } from "./AnswerDialog";

type Pause = Schemas["OpenPause"];

export default function QuestionsPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const { user } = useAccount();
  const queries = useQueryClient();
  const [parameters, setParameters] = useSearchParameters();
  const [answering, setAnswering] = useState<Pause | null>(null);
  const { assignee, workflowId } = parameters;
  const query = api.useQuery(
    "get",
    "/pauses",
    { params: { query: { ...pageOf(parameters), assignee, workflowId } } },
    { placeholderData: keepPreviousData },
  );
  const workflows = api.useQuery("get", "/workflows", { params: { query: { limit: 100, sortBy: "name", sortOrder: "asc" } } });
  const nameOf = (workflow: string) => workflows.data?.items.find((one) => one.id === workflow)?.name ?? workflow;
  const isMine = assignee === user.email;

  const columns: Column<Pause>[] = [
    {
      head: <Trans>Question</Trans>,
      cell: ({ question, nodeId }) => (
        <div className="min-w-48 break-words">
          <p className="font-medium">{question?.title || question?.prompt || nodeId}</p>
          {question?.title && <p className="line-clamp-2 text-quiet">{question.prompt}</p>}
        </div>
      ),
    },
    {
      head: <Trans>About</Trans>,
      cell: (pause) => (
        <div className="break-words">
          <Link to={`/t/${id}/runs/${pause.runId}`}>{pause.entityId}</Link>
          <p className="text-quiet">{nameOf(pause.workflowId)}</p>
        </div>
      ),
      isMinor: true,
    },
    { head: <Trans>Assigned to</Trans>, cell: ({ question }) => question?.assignee || <span className="text-quiet">—</span>, isMinor: true },
    { head: <Trans>Asked</Trans>, cell: (pause) => <Time at={pause.createdAt} />, isMinor: true },
    { head: <Trans>Deadline</Trans>, cell: ({ until }) => (until ? <Deadline until={until} /> : <Trans>none</Trans>) },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (pause) =>
        can("approver") && (
          <div className="-my-1 flex justify-end">
            <Button
              icon={Reply}
              aria-label={t`Answer ${pause.question?.title || pause.question?.prompt || pause.nodeId}`}
              onClick={() => setAnswering(pause)}
            >
              <Trans>Answer</Trans>
            </Button>
          </div>
        ),
    },
  ];
  return (
    <Page title={t`Questions`} description={<Trans>What runs ask people, and wait for.</Trans>}>
      <Filters>
        <SearchFilter name="assignee" label={t`Assigned to exactly`} />
        <Button
          aria-pressed={isMine}
          className={isMine ? "!border-accent text-accent" : ""}
          onClick={() => setParameters({ ...parameters, assignee: isMine ? undefined : user.email, offset: undefined })}
        >
          <Trans>Mine</Trans>
        </Button>
        <SelectFilter name="workflowId" label={t`Workflow`}>
          <option value="">{t`All workflows`}</option>
          {workflows.data?.items.map((workflow) => (
            <option key={workflow.id} value={workflow.id}>
              {workflow.name}
            </option>
          ))}
        </SelectFilter>
      </Filters>
      <List
        label={t`Questions`}
        columns={columns}
        rowKey={(pause) => pause.id}
        query={query}
        isFiltered={Boolean(assignee || workflowId)}
        empty={
          <Empty title={<Trans>Nothing waits for people</Trans>}>
            <Trans>A workflow with a node of the type input asks a person, and its question stands here until somebody answers it.</Trans>
          </Empty>
        }
      />
      {answering && (
        <AnswerDialog
          pause={answering}
          about={`${nameOf(answering.workflowId)} · ${answering.entityId}`}
          onClose={() => setAnswering(null)}
          onDone={() => {
            setAnswering(null);
            toast(t`The run goes on with your answer`);
            void queries.invalidateQueries({ queryKey: ["get", "/pauses"] });
          }}
        />
      )}
    </Page>
  );
}

const soon = 3_600_000;

function Deadline({ until }: { until: string }) {
  const isSoon = Date.parse(until) - Date.now() < soon;
  return isSoon ? (
    <Badge tone="warn">
      <Time at={until} />
    </Badge>
  ) : (
    <Time at={until} />
  );
}
