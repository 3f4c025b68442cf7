import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import {
  Button,
  type Column,
  Empty,
  Filters,
  Link,
  List,
  Metadata,
  Page,
  pageOf,
  SearchFilter,
  Time,
  toast,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { EditSubTenant } from "./EditSubTenant";

type SubTenant = Schemas["SubTenant"];

export default function SubTenantsPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const { search } = parameters;
  const query = api.useQuery("get", "/sub-tenants", { params: { query: { ...pageOf(parameters), search } } }, { placeholderData: keepPreviousData });
  useShortcut(can("editor") ? { keys: "c", label: t`Register a sub-tenant`, run: () => setCreating(true) } : undefined);

  const columns: Column<SubTenant>[] = [
    {
      head: <Trans>Name</Trans>,
      cell: (one) => (
        <div className="min-w-40 break-words">
          <Link to={`/t/${id}/sub-tenants/${one.id}`} className="font-medium text-accent hover:underline">
            {one.name}
          </Link>
          {one.description && <p className="line-clamp-1 text-quiet">{one.description}</p>}
        </div>
      ),
    },
    { head: <Trans>Identifier</Trans>, cell: (one) => <code className="break-all">{one.subTenantId}</code> },
    { head: <Trans>Metadata</Trans>, cell: (one) => <Metadata of={one.metadata} />, isMinor: true },
    { head: <Trans>Registered</Trans>, cell: (one) => <Time at={one.createdAt} />, isMinor: true },
  ];
  const create = can("editor") && (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      <Trans>Register a sub-tenant</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Sub-tenants`}
      description={<Trans>Your own customers, each with workflows, keys and embedded editors of its own.</Trans>}
      actions={create}
    >
      <Filters>
        <SearchFilter label={t`Search by name or description`} />
      </Filters>
      <List
        label={t`Sub-tenants`}
        columns={columns}
        rowKey={(one) => one.id}
        query={query}
        isFiltered={Boolean(search)}
        empty={
          <Empty title={<Trans>No sub-tenant is registered yet</Trans>} action={create}>
            <Trans>A registration gives one of your customers a name here. Workflows can belong to it whether or not it is registered.</Trans>
          </Empty>
        }
      />
      {isCreating && (
        <EditSubTenant
          onClose={() => setCreating(false)}
          onDone={() => {
            setCreating(false);
            toast(t`The sub-tenant was registered`);
            void queries.invalidateQueries({ queryKey: ["get", "/sub-tenants"] });
          }}
        />
      )}
    </Page>
  );
}
