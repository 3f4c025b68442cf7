import { useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { type Schemas, useTenant } from "@/api";
import {
  Bars,
  bytes,
  type Column,
  ErrorPanel,
  Fact,
  Facts,
  Filters,
  number,
  Page,
  Section,
  SelectFilter,
  Skeleton,
  Table,
  useSearchParameters,
} from "@/ui";
import { periodOf } from "./period";

type Item = Schemas["UsageItem"];
type Figure = { label: string; of: (counts: Schemas["UsageCounts"]) => number; text?: (value: number) => string };

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
  const nameOf = ({ start }: Item) =>
    new Date(start).toLocaleDateString(
      i18n.locale,
      asked.by === "day" ? { timeZone: "UTC", day: "numeric", month: "short" } : { timeZone: "UTC", month: "short", year: "numeric" },
    );
  const runs: Figure = { label: t`Runs started`, of: (counts) => counts.runs.started };
  const figures: Record<string, Figure> = {
    runs,
    failed: { label: t`Runs failed`, of: (counts) => counts.runs.failed },
    requests: { label: t`Requests`, of: (counts) => counts.requests.total },
    attempts: { label: t`Attempts at nodes`, of: (counts) => counts.nodeAttempts },
    deliveries: { label: t`Webhook deliveries`, of: (counts) => counts.deliveries.delivered + counts.deliveries.failed },
    hooks: { label: t`Deliveries to hooks`, of: (counts) => counts.hooks.accepted + counts.hooks.refused },
    code: { label: t`Seconds of code`, of: (counts) => counts.codeSeconds },
    bytes: { label: t`Bytes kept`, of: (counts) => counts.bytesKept, text: bytes },
  };
  const shown = figures[show ?? ""] ?? runs;
  const columns: Column<Item>[] = [
    { head: asked.by === "day" ? t`Day` : t`Month`, cell: nameOf },
    ...Object.entries(figures).map(
      ([key, { label, of, text = number }]): Column<Item> => ({
        head: label,
        cell: (item) => text(of(item)),
        isNumber: true,
        isMinor: !["runs", "failed", "requests"].includes(key),
      }),
    ),
  ];
  const used = (name: keyof Schemas["Budgets"], text: (value: number) => string = number) => {
    const limit = data?.budgets[name];
    if (!limit) return undefined;
    const amount = data.used[name] ?? 0;
    const [has, may, percent] = [text(amount), text(limit), Math.floor((amount / limit) * 100)];
    return t`${has} of ${may} (${percent} %)`;
  };
  return (
    <Page title={t`Usage`} description={t`What this tenant used, in days of UTC.`}>
      <Filters>
        <SelectFilter name="period" label={t`Period`} all={t`Last 30 days`} options={{ month: t`This month`, year: t`Last 12 months` }} />
        <SelectFilter
          name="show"
          label={t`Chart`}
          all={runs.label}
          options={Object.fromEntries(Object.entries(figures).flatMap(([key, { label }]) => (key === "runs" ? [] : [[key, label]])))}
        />
      </Filters>
      {error && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data && (
        <>
          {Object.keys(data.budgets).length > 0 && (
            <Section title={t`Budgets`}>
              <Facts>
                <Fact label={t`Runs started this month`} value={used("runsPerMonth")} />
                <Fact label={t`Live runs`} value={used("liveRuns")} />
                <Fact label={t`Bytes kept`} value={used("bytesKept", bytes)} />
              </Facts>
            </Section>
          )}
          <Facts>
            {Object.entries(figures).map(([key, { label, of, text = number }]) => (
              <Fact key={key} label={label} value={text(of(data.totals))} />
            ))}
          </Facts>
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
          <Table label={t`Usage`} columns={columns} rowKey={(item) => item.start} items={[...data.items].reverse()} />
        </>
      )}
      {!data && !error && <Skeleton lines={12} />}
    </Page>
  );
}
