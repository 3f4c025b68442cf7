import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { type Schemas, useTenant } from "@/api";
import { Bars, bytes, type Column, ErrorPanel, Facts, Filters, Page, Section, SelectFilter, Table, useSearchParameters } from "@/ui";
import { periodOf } from "./period";

type Item = Schemas["UsageItem"];
type Counts = Schemas["UsageCounts"];

export default function UsagePage() {
  const { t, i18n } = useLingui();
  const { api } = useTenant();
  const [{ period, show }] = useSearchParameters();
  const asked = periodOf(period, new Date());
  const { data, error, refetch } = api.useQuery(
    "get",
    "/usage",
    { params: { query: asked } },
    { placeholderData: keepPreviousData, refetchInterval: 30_000 },
  );
  const number = (value: number) => value.toLocaleString(i18n.locale, { maximumFractionDigits: 1 });
  const nameOf = ({ start }: Item) =>
    new Date(start).toLocaleDateString(
      i18n.locale,
      asked.by === "day" ? { timeZone: "UTC", day: "numeric", month: "short" } : { timeZone: "UTC", month: "short", year: "numeric" },
    );
  const figures: Record<string, { label: string; of: (counts: Counts) => number; text?: (value: number) => string }> = {
    runs: { label: t`Runs started`, of: (counts) => counts.runs.started },
    failed: { label: t`Runs failed`, of: (counts) => counts.runs.failed },
    requests: { label: t`Requests`, of: (counts) => counts.requests.total },
    attempts: { label: t`Attempts at nodes`, of: (counts) => counts.nodeAttempts },
    deliveries: { label: t`Webhook deliveries`, of: (counts) => counts.deliveries.delivered + counts.deliveries.failed },
    hooks: { label: t`Deliveries to hooks`, of: (counts) => counts.hooks.accepted + counts.hooks.refused },
    code: { label: t`Seconds of code`, of: (counts) => counts.codeSeconds },
    bytes: { label: t`Bytes kept`, of: (counts) => counts.bytesKept, text: bytes },
  };
  const shown = figures[show ?? ""] ?? figures.runs;
  const columns: Column<Item>[] = [
    { head: asked.by === "day" ? <Trans>Day</Trans> : <Trans>Month</Trans>, cell: nameOf },
    ...Object.entries(figures).map(
      ([key, { label, of, text = number }]): Column<Item> => ({
        head: label,
        cell: (item) => text(of(item)),
        isNumber: true,
        isMinor: !["runs", "failed", "requests"].includes(key),
      }),
    ),
  ];
  const used = (name: keyof Schemas["Budgets"], text: (value: number) => string) => {
    const limit = data?.budgets[name];
    const amount = data?.used[name] ?? 0;
    if (!limit) return null;
    const [has, may, percent] = [text(amount), text(limit), Math.floor((amount / limit) * 100)];
    return t`${has} of ${may} (${percent} %)`;
  };
  return (
    <Page title={t`Usage`} description={<Trans>What this tenant used, in days of UTC.</Trans>}>
      <Filters>
        <SelectFilter name="period" label={t`Period`}>
          <option value="">{t`Last 30 days`}</option>
          <option value="month">{t`This month`}</option>
          <option value="year">{t`Last 12 months`}</option>
        </SelectFilter>
        <SelectFilter name="show" label={t`Chart`}>
          {Object.entries(figures).map(([key, { label }]) => (
            <option key={key} value={key === "runs" ? "" : key}>
              {label}
            </option>
          ))}
        </SelectFilter>
      </Filters>
      {error && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data && shown && (
        <>
          {Object.keys(data.budgets).length > 0 && (
            <Section title={t`Budgets`}>
              <Facts
                facts={[
                  [t`Runs started this month`, used("runsPerMonth", number)] as const,
                  [t`Live runs`, used("liveRuns", number)] as const,
                  [t`Bytes kept`, used("bytesKept", bytes)] as const,
                ].flatMap(([label, text]) => (text ? [[label, text]] : []))}
              />
            </Section>
          )}
          <Facts facts={Object.values(figures).map(({ label, of, text = number }) => [label, text(of(data.totals))])} />
          <Section title={shown.label}>
            <Bars
              label={t`${shown.label} over time; the table below has the figures`}
              items={data.items.map((item) => ({
                key: item.start,
                name: nameOf(item),
                value: shown.of(item),
                text: (shown.text ?? number)(shown.of(item)),
              }))}
            />
          </Section>
        </>
      )}
      {!(error && !data) && <Table label={t`Usage`} columns={columns} rowKey={(item) => item.start} items={data && [...data.items].reverse()} />}
    </Page>
  );
}
