import { useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { useItems } from "@/parts";
import { outcomes, SchedulePreview } from "@/parts/triggers";
import { Empty, Filters, Link, List, Section, SelectFilter, StateBadge, Time } from "@/ui";

type Fire = Schemas["Fire"];

/** When a schedule fires next, and what became of the times before. */
export function Ledger({ triggerId }: { triggerId: string }) {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const path = { id: triggerId };
  const preview = api.useQuery("get", "/triggers/{id}/preview", { params: { path, query: { count: 5 } } }, { refetchInterval: 30_000 });
  const fires = useItems(api, "/triggers/{id}/fires", ["outcome"], { path, refetchInterval: 10_000 });
  return (
    <>
      <Section title={t`Next times`}>
        <SchedulePreview preview={preview.data} error={preview.error} />
      </Section>
      <Section title={t`Times before`}>
        <Filters>
          <SelectFilter name="outcome" label={t`Outcome`} all={t`All outcomes`} options={outcomes} />
        </Filters>
        <List<Fire>
          label={t`Times before`}
          rowKey={({ scheduledAt }) => scheduledAt}
          query={fires}
          columns={[
            { head: t`Due`, cell: ({ scheduledAt }) => <Time at={scheduledAt} />, width: "short" },
            { head: t`Outcome`, cell: (fire) => <StateBadge of={outcomes[fire.outcome]} />, width: "short" },
            { head: t`Why`, cell: ({ reason }) => reason, isMinor: true },
            {
              head: t`Run`,
              cell: ({ runId }) => runId && <Link to={`/t/${id}/runs/${runId}`}>{t`Run`}</Link>,
            },
          ]}
          empty={<Empty title={t`It was not due yet`} />}
        />
      </Section>
    </>
  );
}
