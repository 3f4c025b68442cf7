import { useLingui } from "@lingui/react/macro";
import { operatorApi, type Schemas } from "@/api";
import { useItems } from "@/parts";
import { bytes, type Column, Empty, Filters, Link, List, number, Page, SearchFilter, SelectFilter, useSearchParameters } from "@/ui";
import { boundsOf, lastMonths } from "./months";

export default function UsagePage() {
  const { t, i18n } = useLingui();
  const [parameters] = useSearchParameters();
  const months = lastMonths(new Date());
  const month = months.includes(parameters.month ?? "") ? (parameters.month as string) : (months[0] as string);
  const query = useItems(operatorApi, "/usage", ["search"], { query: { ...boundsOf(month), by: "month" } });
  const { data: tenants } = useItems(operatorApi, "/tenants", ["search"]); // the same page of the same list
  const names = new Map(tenants?.items.map(({ id, name }) => [id, name]));
  const nameOf = (one: string) => new Date(`${one}-01`).toLocaleDateString(i18n.locale, { timeZone: "UTC", month: "long", year: "numeric" });
  const columns: Column<Schemas["TenantUsage"]>[] = [
    { head: t`Tenant`, cell: ({ tenantId }) => <Link to={`/operator/tenants/${tenantId}`}>{names.get(tenantId) ?? tenantId}</Link> },
    { head: t`Runs started`, cell: ({ totals }) => number(totals.runs.started), isNumber: true },
    { head: t`Runs failed`, cell: ({ totals }) => number(totals.runs.failed), isNumber: true, isMinor: true },
    { head: t`Requests`, cell: ({ totals }) => number(totals.requests.total), isNumber: true },
    { head: t`Attempts at nodes`, cell: ({ totals }) => number(totals.nodeAttempts), isNumber: true, isMinor: true },
    {
      head: t`Webhook deliveries`,
      cell: ({ totals }) => number(totals.deliveries.delivered + totals.deliveries.failed),
      isNumber: true,
      isMinor: true,
    },
    { head: t`Seconds of code`, cell: ({ totals }) => number(totals.codeSeconds), isNumber: true, isMinor: true },
    { head: t`Bytes kept`, cell: ({ totals }) => bytes(totals.bytesKept), isNumber: true },
  ];
  return (
    <Page title={t`Usage`} description={t`What each tenant used in a month of UTC.`}>
      <Filters>
        <SearchFilter label={t`Search by name`} />
        <SelectFilter
          name="month"
          label={t`Month`}
          all={nameOf(months[0] as string)}
          options={Object.fromEntries(months.slice(1).map((one) => [one, nameOf(one)]))}
        />
      </Filters>
      <List
        label={t`Usage`}
        columns={columns}
        rowKey={({ tenantId }) => tenantId}
        query={query}
        empty={<Empty title={t`There are no tenants yet`} />}
      />
    </Page>
  );
}
