import { useLingui } from "@lingui/react/macro";
import { useQueries } from "@tanstack/react-query";
import { useTenant } from "@/api";
import { runStates } from "@/parts";
import { Link, Section, StateBadge } from "@/ui";

const order = ["failed", "running", "paused", "pending", "completed", "cancelled"] as const;

/** How many of the runs that a run started stand where, failed ones first, and the first that failed. */
export function Children({ runId }: { runId: string }) {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const counts = useQueries({
    queries: order.map((status) =>
      api.queryOptions("get", "/runs", { params: { query: { parentRunId: runId, status, limit: status === "failed" ? 5 : 1 } } }),
    ),
  }).map(({ data }, at) => ({ status: order[at] as (typeof order)[number], data }));
  if (counts.every(({ data }) => !data || data.total === 0)) return null;
  return (
    <Section title={t`Runs that it started`}>
      <div className="flex flex-wrap gap-x-5 gap-y-2 rounded-lg border border-line bg-panel p-3">
        {counts.map(
          ({ status, data }) =>
            data &&
            data.total > 0 && (
              <Link key={status} to={`/t/${id}/runs?parentRunId=${runId}&status=${status}`} className="flex gap-1.5 hover:underline">
                <StateBadge of={runStates[status]} /> <span className="tabular-nums">{data.total}</span>
              </Link>
            ),
        )}
      </div>
      {counts[0]?.data?.items.map((run) => (
        <p key={run.id} className="truncate">
          <Link to={`/t/${id}/runs/${run.id}`}>{run.index === undefined ? run.entityId : `#${run.index}`}</Link> {run.error?.message}
        </p>
      ))}
    </Section>
  );
}
