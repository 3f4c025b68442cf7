import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { type Schemas, useTenant } from "@/api";
import { Badge, Empty, Filters, Link, List, pageOf, Section, SelectFilter, Time, useSearchParameters } from "@/ui";
import { SchedulePreview } from "./SchedulePreview";
import { outcomes } from "./words";

type Fire = Schemas["Fire"];

/** When a schedule fires next, and what became of the times before. */
export function Ledger({ triggerId }: { triggerId: string }) {
  const { t, i18n } = useLingui();
  const { api, id } = useTenant();
  const [parameters] = useSearchParameters();
  const { outcome } = parameters;
  const path = { id: triggerId };
  const preview = api.useQuery("get", "/triggers/{id}/preview", { params: { path, query: { count: 5 } } }, { refetchInterval: 30_000 });
  const fires = api.useQuery(
    "get",
    "/triggers/{id}/fires",
    { params: { path, query: { ...pageOf(parameters), outcome: outcome as Fire["outcome"] | undefined } } },
    { placeholderData: keepPreviousData, refetchInterval: 10_000 },
  );
  return (
    <>
      <Section title={<Trans>Next times</Trans>}>
        <SchedulePreview preview={preview.data} error={preview.error} />
      </Section>
      <Section title={<Trans>Times before</Trans>}>
        <Filters>
          <SelectFilter name="outcome" label={t`Outcome`}>
            <option value="">{t`All outcomes`}</option>
            {Object.entries(outcomes).map(([value, { word }]) => (
              <option key={value} value={value}>
                {i18n._(word)}
              </option>
            ))}
          </SelectFilter>
        </Filters>
        <List<Fire>
          label={t`Times before`}
          rowKey={({ scheduledAt }) => scheduledAt}
          query={fires}
          isFiltered={!!outcome}
          columns={[
            { head: <Trans>Due</Trans>, cell: ({ scheduledAt }) => <Time at={scheduledAt} /> },
            { head: <Trans>Outcome</Trans>, cell: (fire) => <Badge tone={outcomes[fire.outcome].tone}>{i18n._(outcomes[fire.outcome].word)}</Badge> },
            { head: <Trans>Why</Trans>, cell: ({ reason }) => reason, isMinor: true },
            {
              head: <Trans>Run</Trans>,
              cell: ({ runId }) =>
                runId && (
                  <Link to={`/t/${id}/runs/${runId}`}>
                    <Trans>Run</Trans>
                  </Link>
                ),
            },
          ]}
          empty={<Empty title={<Trans>It was not due yet</Trans>} />}
        />
      </Section>
    </>
  );
}
