import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Ban, RotateCcw } from "lucide-react";
import { useState } from "react";
import { operatorApi, operatorClient, type Schemas } from "@/api";
import {
  Badge,
  type Column,
  Confirm,
  Empty,
  Filters,
  Identifier,
  Link,
  List,
  Menu,
  MenuItem,
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  type Tone,
  toast,
  toastError,
  useSearchParameters,
} from "@/ui";

type Run = Schemas["OperatorRun"];
type Status = Schemas["RunStatus"];

const tones: Record<Status, Tone> = { pending: "quiet", running: "info", paused: "warn", completed: "ok", failed: "danger", cancelled: "quiet" };

export default function RunsPage() {
  const { t } = useLingui();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [cancelling, setCancelling] = useState<Run | null>(null);
  const { status, tenantId, olderThan } = parameters;
  const query = operatorApi.useQuery(
    "get",
    "/runs",
    {
      params: {
        query: { ...pageOf(parameters), status: status as Status | undefined, tenantId, olderThan: olderThan ? Number(olderThan) : undefined },
      },
    },
    { placeholderData: keepPreviousData, refetchInterval: 10_000 },
  );
  const reload = () => queries.invalidateQueries({ queryKey: ["get", "/runs"] });
  const names: Record<Status, string> = {
    pending: t`Pending`,
    running: t`Running`,
    paused: t`Paused`,
    completed: t`Completed`,
    failed: t`Failed`,
    cancelled: t`Cancelled`,
  };
  const retry = (run: Run) =>
    void operatorClient.POST("/runs/{id}/retry", { params: { path: { id: run.id } } }).then(async () => {
      toast(t`The run goes on where it failed`);
      await reload();
    }, toastError);

  const columns: Column<Run>[] = [
    {
      head: <Trans>Run</Trans>,
      cell: (run) => (
        <div className="max-w-72">
          <Identifier id={run.id} />
        </div>
      ),
    },
    {
      head: <Trans>State</Trans>,
      cell: (run) => (
        <>
          <Badge tone={tones[run.status]}>{names[run.status]}</Badge>
          {run.error && <code className="block text-quiet">{run.error.code}</code>}
        </>
      ),
    },
    { head: <Trans>Tenant</Trans>, cell: (run) => <Link to={`/operator/tenants/${run.tenantId}`}>{run.tenantId}</Link>, isMinor: true },
    { head: <Trans>Created</Trans>, cell: (run) => <Time at={run.createdAt} /> },
    { head: <Trans>Changed</Trans>, cell: (run) => <Time at={run.updatedAt} />, isMinor: true },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (run) =>
        !["completed", "cancelled"].includes(run.status) && (
          <div className="-my-1 flex justify-end">
            <Menu label={t`Actions for ${run.id}`}>
              {run.status === "failed" ? (
                <MenuItem icon={RotateCcw} onSelect={() => retry(run)}>
                  <Trans>Retry</Trans>
                </MenuItem>
              ) : (
                <MenuItem icon={Ban} isDangerous onSelect={() => setCancelling(run)}>
                  <Trans>Cancel the run</Trans>
                </MenuItem>
              )}
            </Menu>
          </div>
        ),
    },
  ];
  const waiting = query.data?.oldestWaiting;
  return (
    <Page
      title={t`All runs`}
      description={
        waiting ? (
          <Trans>
            The run that has waited longest for a worker, <code>{waiting.runId}</code>, could have begun <Time at={waiting.since} />.
          </Trans>
        ) : (
          query.data && <Trans>No run waits for a worker.</Trans>
        )
      }
    >
      <Filters>
        <SearchFilter name="tenantId" label={t`Tenant: identifier`} />
        <SelectFilter name="status" label={t`State`}>
          <option value="">{t`All states`}</option>
          {Object.entries(names).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectFilter>
        <SelectFilter name="olderThan" label={t`Age`}>
          <option value="">{t`Of any age`}</option>
          <option value="300">{t`Older than 5 minutes`}</option>
          <option value="3600">{t`Older than an hour`}</option>
          <option value="86400">{t`Older than a day`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`All runs`}
        columns={columns}
        rowKey={(run) => run.id}
        query={query}
        isFiltered={Boolean(status || tenantId || olderThan)}
        empty={<Empty title={<Trans>There are no runs yet</Trans>} />}
      />
      <Confirm
        isOpen={cancelling !== null}
        onClose={() => setCancelling(null)}
        title={<Trans>Cancel this run?</Trans>}
        action={<Trans>Cancel the run</Trans>}
        onConfirm={async () => {
          if (!cancelling) return;
          await operatorClient.POST("/runs/{id}/cancel", { params: { path: { id: cancelling.id } }, body: {} });
          await reload();
        }}
      >
        <p>
          <Trans>What it is doing outside is interrupted. What has happened there is not taken back.</Trans>
        </p>
      </Confirm>
    </Page>
  );
}
