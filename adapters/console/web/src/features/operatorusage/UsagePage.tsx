import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { operatorApi, type Schemas } from "@/api";
import { bytes, type Column, Empty, Filters, Link, List, Page, pageOf, SearchFilter, SelectFilter, useSearchParameters } from "@/ui";
import { boundsOf, lastMonths } from "./months";

export default function UsagePage() {
  const { t, i18n } = useLingui();
  const [parameters] = useSearchParameters();
  const months = lastMonths(new Date());
  const month = months.includes(parameters.month ?? "") ? (parameters.month as string) : (months[0] as string);
  const { search } = parameters;
  const query = operatorApi.useQuery(
    "get",
    "/usage",
    { params: { query: { ...pageOf(parameters), search, ...boundsOf(month), by: "month" } } },
    { placeholderData: keepPreviousData },
  );
  const number = (value: number) => value.toLocaleString(i18n.locale, { maximumFractionDigits: 1 });
  const columns: Column<Schemas["TenantUsage"]>[] = [
    { head: <Trans>Tenant</Trans>, cell: ({ tenantId }) => <Link to={`/operator/tenants/${tenantId}`}>{tenantId}</Link> },
    { head: <Trans>Runs started</Trans>, cell: ({ totals }) => number(totals.runs.started), isNumber: true },
    { head: <Trans>Runs failed</Trans>, cell: ({ totals }) => number(totals.runs.failed), isNumber: true, isMinor: true },
    { head: <Trans>Requests</Trans>, cell: ({ totals }) => number(totals.requests.total), isNumber: true },
    { head: <Trans>Attempts at nodes</Trans>, cell: ({ totals }) => number(totals.nodeAttempts), isNumber: true, isMinor: true },
    {
      head: <Trans>Webhook deliveries</Trans>,
      cell: ({ totals }) => number(totals.deliveries.delivered + totals.deliveries.failed),
      isNumber: true,
      isMinor: true,
    },
    { head: <Trans>Seconds of code</Trans>, cell: ({ totals }) => number(totals.codeSeconds), isNumber: true, isMinor: true },
    { head: <Trans>Bytes kept</Trans>, cell: ({ totals }) => bytes(totals.bytesKept), isNumber: true },
  ];
  return (
    <Page title={t`Usage`} description={<Trans>What each tenant used in a month of UTC.</Trans>}>
      <Filters>
        <SearchFilter label={t`Search by name`} />
        <SelectFilter name="month" label={t`Month`}>
          {months.map((one, at) => (
            <option key={one} value={at === 0 ? "" : one}>
              {new Date(`${one}-01`).toLocaleDateString(i18n.locale, { timeZone: "UTC", month: "long", year: "numeric" })}
            </option>
          ))}
        </SelectFilter>
      </Filters>
      <List
        label={t`Usage`}
        columns={columns}
        rowKey={({ tenantId }) => tenantId}
        query={query}
        isFiltered={Boolean(search)}
        empty={<Empty title={<Trans>There are no tenants yet</Trans>} />}
      />
    </Page>
  );
}
