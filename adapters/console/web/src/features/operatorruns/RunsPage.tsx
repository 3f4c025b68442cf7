import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { Ban, RotateCcw } from "lucide-react";
import { useState } from "react";
import { operatorApi, operatorClient, type Schemas } from "@/api";
import { runStates, useItems, useReload } from "@/parts";
import {
  actionsColumn,
  attempt,
  type Column,
  Confirm,
  Figure,
  Figures,
  Identifier,
  type Items,
  Link,
  ListPage,
  Menu,
  MenuItem,
  number,
  SearchFilter,
  SelectFilter,
  StateBadge,
  Time,
} from "@/ui";

type Run = Schemas["OperatorRun"];
type Runs = Items<Run> & { oldestWaiting?: { runId: string; since: string } };

export default function RunsPage() {
  const { t } = useLingui();
  const reload = useReload("/runs");
  const [cancelling, setCancelling] = useState<Run | null>(null);
  const query = useItems(operatorApi, "/runs", ["tenantId", "status", "olderThan"], { refetchInterval: 10_000 });
  const path = (run: Run) => ({ params: { path: { id: run.id } } });
  const retry = (run: Run) => attempt(operatorClient.POST("/runs/{id}/retry", path(run)).then(reload), t`The run goes on where it failed`);
  const columns: Column<Run>[] = [
    {
      head: t`Run`,
      cell: (run) => (
        <div className="max-w-72">
          <Identifier id={run.id} />
        </div>
      ),
    },
    {
      head: t`State`,
      cell: (run) => (
        <>
          <StateBadge of={runStates[run.status]} />
          {run.error && <code className="block text-quiet">{run.error.code}</code>}
        </>
      ),
      width: "short",
    },
    { head: t`Tenant`, cell: (run) => <Link to={`/operator/tenants/${run.tenantId}`}>{run.tenantId}</Link>, isMinor: true },
    { head: t`Created`, cell: (run) => <Time at={run.createdAt} />, width: "short" },
    { head: t`Changed`, cell: (run) => <Time at={run.updatedAt} />, width: "short", isMinor: true },
    actionsColumn(
      (run) =>
        !["completed", "cancelled"].includes(run.status) && (
          <Menu label={t`Actions for ${run.id}`}>
            {run.status === "failed" ? (
              <MenuItem icon={RotateCcw} label={t`Retry`} onSelect={() => retry(run)} />
            ) : (
              <MenuItem icon={Ban} label={t`Cancel the run`} isDangerous onSelect={() => setCancelling(run)} />
            )}
          </Menu>
        ),
    ),
  ];
  const waiting = (query.data as Runs | undefined)?.oldestWaiting;
  return (
    <ListPage
      title={t`All runs`}
      description={
        waiting ? (
          <Trans>
            The run that has waited longest for a worker, <code>{waiting.runId}</code>, could have begun <Time at={waiting.since} />.
          </Trans>
        ) : (
          query.data && t`No run waits for a worker.`
        )
      }
      query={query}
      columns={columns}
      figures={<Queue />}
      filters={
        <>
          <SearchFilter name="tenantId" label={t`Tenant: identifier`} />
          <SelectFilter name="status" label={t`State`} all={t`All states`} options={runStates} />
          <SelectFilter
            name="olderThan"
            label={t`Age`}
            all={t`Of any age`}
            options={{ 300: t`Older than 5 minutes`, 3600: t`Older than an hour`, 86400: t`Older than a day` }}
          />
        </>
      }
      empty={{ title: t`There are no runs yet` }}
    >
      {cancelling && (
        <Confirm
          onClose={() => setCancelling(null)}
          title={t`Cancel this run?`}
          action={t`Cancel the run`}
          onConfirm={async () => {
            await operatorClient.POST("/runs/{id}/cancel", { ...path(cancelling), body: {} });
            await reload();
          }}
        >
          <p>{t`What it is doing outside is interrupted. What has happened there is not taken back.`}</p>
        </Confirm>
      )}
    </ListPage>
  );
}

/** How many runs stand where, of all tenants. */
function Queue() {
  const { t } = useLingui();
  return (
    <Figures>
      <Depth label={t`Wait for a worker`} status="pending" />
      <Depth label={t`Are worked on`} status="running" />
      <Depth label={t`Wait for people or a time`} status="paused" />
      <Depth label={t`Failed`} status="failed" />
    </Figures>
  );
}

function Depth({ label, status }: { label: string; status: Schemas["RunStatus"] }) {
  const { data, error } = operatorApi.useQuery(
    "get",
    "/runs",
    { params: { query: { status, limit: 1 } } },
    { refetchInterval: 10_000, placeholderData: keepPreviousData },
  );
  return <Figure label={label} value={data ? number(data.total) : error ? "—" : undefined} to={`/operator/runs?status=${status}`} />;
}
