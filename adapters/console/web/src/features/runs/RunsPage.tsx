import { Trans, useLingui } from "@lingui/react/macro";
import { X } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { causes, entityOf, runStates, useItems, useWorkflowNames, WorkflowName } from "@/parts";
import { Button, type Column, Link, ListPage, SearchFilter, SelectFilter, StateBadge, spanOf, Time, useSearchParameters } from "@/ui";

export default function RunsPage() {
  const { t, i18n } = useLingui();
  const { api, id } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const { workflowId, parentRunId } = parameters;
  const nameOf = useWorkflowNames();
  const columns: Column<Schemas["RunSummary"]>[] = [
    {
      head: t`Run`,
      cell: (run) => (
        <>
          <Link to={`/t/${id}/runs/${run.id}`}>{entityOf(run) ?? nameOf(run.workflowId)}</Link>
          {entityOf(run) && <span className="block truncate text-quiet">{nameOf(run.workflowId)}</span>}
        </>
      ),
    },
    { head: t`State`, cell: (run) => <StateBadge of={runStates[run.status]} />, width: "short" },
    {
      head: t`Error`,
      cell: (run) => run.error && <span className="line-clamp-2 text-quiet">{run.error.message}</span>,
      isMinor: true,
    },
    { head: t`Started by`, cell: (run) => <span className="text-quiet">{i18n._(causes[run.cause])}</span>, width: "short", isMinor: true },
    { head: t`Took`, cell: (run) => spanOf(run.startedAt, run.finishedAt), isNumber: true, isMinor: true },
    { head: t`Created`, cell: (run) => <Time at={run.createdAt} />, width: "short" },
  ];
  return (
    <ListPage
      title={t`Runs`}
      query={useItems(api, "/runs", ["status", "entityId", "workflowId", "parentRunId"])}
      columns={columns}
      filters={
        <>
          <SearchFilter name="entityId" label={t`Entity (the whole of it)`} />
          <SelectFilter name="status" label={t`State`} all={t`Every state`} options={runStates} />
          {workflowId && (
            <Button
              icon={X}
              label={
                <Trans>
                  Of <WorkflowName id={workflowId} />
                </Trans>
              }
              onClick={() => setParameters({ ...parameters, workflowId: undefined, offset: undefined })}
            />
          )}
          {parentRunId && (
            <Button
              icon={X}
              label={t`Started by another run`}
              onClick={() => setParameters({ ...parameters, parentRunId: undefined, offset: undefined })}
            />
          )}
        </>
      }
      empty={{
        title: t`Nothing has run yet`,
        text: (
          <Trans>
            Open a{" "}
            <Link to={`/t/${id}/workflows`} className="underline">
              workflow
            </Link>{" "}
            and run it, or call one of its triggers.
          </Trans>
        ),
      }}
    />
  );
}
