import { useLingui } from "@lingui/react/macro";
import { operatorApi, type Schemas } from "@/api";
import { useItems, useReload } from "@/parts";
import { type Column, Link, ListPage, Metadata, SearchFilter, SelectFilter, StateBadge, Time } from "@/ui";
import { CreateTenant } from "./CreateTenant";
import { tenantStates } from "./states";

export default function TenantsPage() {
  const { t } = useLingui();
  const reload = useReload("/tenants");
  const columns: Column<Schemas["Tenant"]>[] = [
    {
      head: t`Name`,
      cell: (tenant) => (
        <Link to={`/operator/tenants/${tenant.id}`} className="font-medium break-words text-accent hover:underline">
          {tenant.name}
        </Link>
      ),
    },
    { head: t`State`, cell: (tenant) => <StateBadge of={tenantStates[tenant.status]} />, width: "short" },
    { head: t`Metadata`, cell: (tenant) => <Metadata of={tenant.metadata} />, isMinor: true },
    { head: t`Created`, cell: (tenant) => <Time at={tenant.createdAt} />, width: "short", isMinor: true },
  ];
  return (
    <ListPage
      title={t`Tenants`}
      query={useItems(operatorApi, "/tenants", ["search", "status"])}
      columns={columns}
      filters={
        <>
          <SearchFilter label={t`Search by name`} />
          <SelectFilter name="status" label={t`State`} all={t`All states`} options={tenantStates} />
        </>
      }
      empty={{ title: t`There are no tenants yet` }}
      create={{ label: t`Create a tenant`, dialog: (onClose) => <CreateTenant onClose={onClose} onDone={reload} /> }}
    />
  );
}
