import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useWorkflowNames } from "@/parts/names";
import { entityOf } from "@/parts/run";
import { buttonLook, type Column, duration, Empty, ErrorPanel, Figure, Figures, Link, number, Page, Section, Table, Time } from "@/ui";
import { spread } from "./spread";

type Run = Schemas["RunSummary"];

const day = 86_400_000;

export default function OverviewPage() {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const nameOf = useWorkflowNames();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 60_000);
    return () => clearInterval(timer);
  }, []);
  const since = (ms: number) => new Date(Math.floor((now - ms) / 60_000) * 60_000).toISOString();
  const hour = { from: since(3_600_000), limit: 1 } as const;
  const recent = { from: since(day), limit: 1 } as const;
  const options = { refetchInterval: 30_000, placeholderData: keepPreviousData };
  const lastHour = api.useQuery("get", "/runs", { params: { query: hour } }, options);
  const failed = api.useQuery("get", "/runs", { params: { query: { ...recent, status: "failed" } } }, options);
  const all = api.useQuery("get", "/runs", { params: { query: recent } }, options);
  const questions = api.useQuery("get", "/pauses", { params: { query: { limit: 1 } } }, options);
  const completed = api.useQuery("get", "/runs", { params: { query: { limit: 100, status: "completed" } } }, options);
  const failures = api.useQuery("get", "/runs", { params: { query: { limit: 5, status: "failed" } } }, options);
  const to = (path: string) => `/t/${id}/${path}`;
  const { median, p95 } = spread(completed.data?.items ?? []);
  const unread = [lastHour, failed, all, questions, completed].filter(({ error }) => error);

  const columns: Column<Run>[] = [
    {
      head: t`Run`,
      cell: (run) => <Link to={to(`runs/${run.id}`)}>{entityOf(run) ?? nameOf(run.workflowId)}</Link>,
    },
    { head: t`Error`, cell: (run) => <span className="line-clamp-2 break-words">{run.error?.message}</span> },
    { head: t`Failed`, cell: (run) => <Time at={run.finishedAt ?? run.updatedAt} />, width: "short" },
  ];
  return (
    <Page title={t`Overview`}>
      {unread[0] && <ErrorPanel error={unread[0].error} onRetry={() => unread.forEach((query) => void query.refetch())} />}
      <Figures>
        <Figure label={t`Runs a minute, last hour`} value={shownOf(lastHour, ({ total }) => perMinute(total))} to={to("runs")} />
        <Figure
          label={t`Failed, last 24 hours`}
          value={shownOf(failed, ({ total }) => number(total))}
          note={all.data && failed.data && all.data.total > 0 && t`of ${number(all.data.total)}`}
          isBad={(failed.data?.total ?? 0) > 0}
          to={to("runs?status=failed")}
        />
        <Figure label={t`Waiting for people`} value={shownOf(questions, ({ total }) => number(total))} to={to("questions")} />
        <Figure
          label={t`Typical duration`}
          value={shownOf(completed, () => (median === undefined ? "—" : duration(median)))}
          note={p95 !== undefined && t`95 of 100 within ${duration(p95)}`}
          to={to("runs?status=completed")}
        />
      </Figures>
      <Section title={t`Last failures`}>
        {failures.error && <ErrorPanel error={failures.error} onRetry={() => void failures.refetch()} />}
        {failures.error && !failures.data ? null : failures.data?.items.length === 0 ? (
          all.data?.total === 0 ? (
            <Empty
              title={t`Nothing has run in the last 24 hours`}
              action={
                <Link to={to("workflows")} className={buttonLook("primary")}>
                  <Trans>Go to the workflows</Trans>
                </Link>
              }
            >
              <Trans>Open a workflow and press Run: you see each node as it works.</Trans>
            </Empty>
          ) : (
            <Empty title={t`No run has failed`} />
          )
        ) : (
          <Table label={t`Last failures`} columns={columns} rowKey={(run) => run.id} items={failures.data?.items} />
        )}
      </Section>
    </Page>
  );
}

/** What a query says, nothing while it is read, and a dash where it cannot be. */
function shownOf<T>({ data, error }: { data?: T | undefined; error: unknown }, text: (data: T) => string): string | undefined {
  if (data) return text(data);
  return error ? "—" : undefined;
}

function perMinute(inAnHour: number): string {
  const rate = inAnHour / 60;
  return number(rate, rate >= 10 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 2 });
}
