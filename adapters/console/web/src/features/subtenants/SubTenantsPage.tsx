import { useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import { type Column, Link, ListPage, Metadata, SearchFilter, Time, toast } from "@/ui";
import { EditSubTenant } from "./EditSubTenant";

type SubTenant = Schemas["SubTenant"];

export default function SubTenantsPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const reload = useReload("/sub-tenants");
  const columns: Column<SubTenant>[] = [
    {
      head: t`Name`,
      cell: (one) => (
        <div>
          <Link to={`/t/${id}/sub-tenants/${one.id}`} className="font-medium text-accent hover:underline">
            {one.name}
          </Link>
          {one.description && <p className="line-clamp-1 text-quiet">{one.description}</p>}
        </div>
      ),
    },
    { head: t`Identifier`, cell: (one) => <code className="break-all">{one.subTenantId}</code> },
    { head: t`Metadata`, cell: (one) => <Metadata of={one.metadata} />, isMinor: true },
    { head: t`Registered`, cell: (one) => <Time at={one.createdAt} />, width: "short", isMinor: true },
  ];
  return (
    <ListPage
      title={t`Sub-tenants`}
      description={t`Your own customers, each with workflows, keys and embedded editors of its own.`}
      query={useItems(api, "/sub-tenants", ["search"])}
      columns={columns}
      filters={<SearchFilter label={t`Search by name or description`} />}
      empty={{
        title: t`No sub-tenant is registered yet`,
        text: t`A registration gives one of your customers a name here. Workflows can belong to it whether or not it is registered.`,
      }}
      create={
        can("editor") && {
          label: t`Register a sub-tenant`,
          dialog: (onClose) => (
            <EditSubTenant
              onClose={onClose}
              onDone={() => {
                onClose();
                toast(t`The sub-tenant was registered`);
                void reload();
              }}
            />
          ),
        }
      }
    />
  );
}
