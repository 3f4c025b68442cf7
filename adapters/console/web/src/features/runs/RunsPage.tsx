import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { Button, type Column, duration, Empty, Filters, Link, List, Page, pageOf, SearchFilter, SelectFilter, Time, useSearchParameters } from "@/ui";
import { RunStatus } from "./Status";

type Run = Schemas["RunSummary"];

export default function RunsPage() {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const { status, entityId, workflowId, parentRunId } = parameters;
  const query = api.useQuery(
    "get",
    "/runs",
    { params: { query: { ...pageOf(parameters), status: status as Run["status"] | undefined, entityId, workflowId, parentRunId } } },
    { placeholderData: keepPreviousData },
  );
  const workflow = api.useQuery("get", "/workflows/{id}", { params: { path: { id: workflowId ?? "" } } }, { enabled: Boolean(workflowId) });

  const columns: Column<Run>[] = [
    { head: <Trans>Run</Trans>, cell: (run) => <Link to={`/t/${id}/runs/${run.id}`}>{run.entityId}</Link> },
    { head: <Trans>State</Trans>, cell: (run) => <RunStatus status={run.status} /> },
    {
      head: <Trans>Error</Trans>,
      cell: (run) => run.error && <span className="line-clamp-1 break-all text-quiet">{run.error.message}</span>,
      isMinor: true,
    },
    { head: <Trans>Started by</Trans>, cell: (run) => <code className="text-quiet">{run.cause}</code>, isMinor: true },
    {
      head: <Trans>Took</Trans>,
      cell: (run) => run.startedAt && run.finishedAt && duration(new Date(run.finishedAt).getTime() - new Date(run.startedAt).getTime()),
      isNumber: true,
      isMinor: true,
    },
    { head: <Trans>Created</Trans>, cell: (run) => <Time at={run.createdAt} /> },
  ];
  return (
    <Page title={t`Runs`}>
      <Filters>
        <SearchFilter name="entityId" label={t`Entity, as it was given`} />
        <SelectFilter name="status" label={t`State`}>
          <option value="">{t`Every state`}</option>
          <option value="pending">{t`Pending`}</option>
          <option value="running">{t`Running`}</option>
          <option value="paused">{t`Waiting`}</option>
          <option value="completed">{t`Completed`}</option>
          <option value="failed">{t`Failed`}</option>
          <option value="cancelled">{t`Cancelled`}</option>
        </SelectFilter>
        {workflowId && (
          <Button icon={X} onClick={() => setParameters({ ...parameters, workflowId: undefined, offset: undefined })}>
            <Trans>Of {workflow.data?.name ?? workflowId}</Trans>
          </Button>
        )}
        {parentRunId && (
          <Button icon={X} onClick={() => setParameters({ ...parameters, parentRunId: undefined, offset: undefined })}>
            <Trans>Started by another run</Trans>
          </Button>
        )}
      </Filters>
      <List
        label={t`Runs`}
        columns={columns}
        rowKey={(run) => run.id}
        query={query}
        isFiltered={Boolean(status || entityId || workflowId || parentRunId)}
        empty={
          <Empty title={<Trans>Nothing has run yet</Trans>}>
            <Trans>
              Open a{" "}
              <Link to={`/t/${id}/workflows`} className="underline">
                workflow
              </Link>{" "}
              and run it, or call one of its triggers.
            </Trans>
          </Empty>
        }
      />
    </Page>
  );
}
