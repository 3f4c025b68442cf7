import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { operatorApi, type Schemas } from "@/api";
import {
  Badge,
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
  SelectFilter,
  Time,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { CreateTenant } from "./CreateTenant";

type Tenant = Schemas["Tenant"];

export default function TenantsPage() {
  const { t } = useLingui();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const { search, status } = parameters;
  const query = operatorApi.useQuery(
    "get",
    "/tenants",
    { params: { query: { ...pageOf(parameters), search, status: status as Tenant["status"] | undefined } } },
    { placeholderData: keepPreviousData },
  );
  useShortcut({ keys: "c", label: t`Create a tenant`, run: () => setCreating(true) });
  const columns: Column<Tenant>[] = [
    {
      head: <Trans>Name</Trans>,
      cell: (tenant) => (
        <Link to={`/operator/tenants/${tenant.id}`} className="font-medium break-words text-accent hover:underline">
          {tenant.name}
        </Link>
      ),
    },
    { head: <Trans>State</Trans>, cell: (tenant) => <TenantState status={tenant.status} /> },
    { head: <Trans>Metadata</Trans>, cell: (tenant) => <Metadata of={tenant.metadata} />, isMinor: true },
    { head: <Trans>Created</Trans>, cell: (tenant) => <Time at={tenant.createdAt} />, isMinor: true },
  ];
  const create = (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      <Trans>Create a tenant</Trans>
    </Button>
  );
  return (
    <Page title={t`Tenants`} actions={create}>
      <Filters>
        <SearchFilter label={t`Search by name`} />
        <SelectFilter name="status" label={t`State`}>
          <option value="">{t`All states`}</option>
          <option value="active">{t`Active`}</option>
          <option value="suspended">{t`Suspended`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`Tenants`}
        columns={columns}
        rowKey={(tenant) => tenant.id}
        query={query}
        isFiltered={Boolean(search || status)}
        empty={<Empty title={<Trans>There are no tenants yet</Trans>} action={create} />}
      />
      {isCreating && <CreateTenant onClose={() => setCreating(false)} onDone={() => queries.invalidateQueries({ queryKey: ["get", "/tenants"] })} />}
    </Page>
  );
}

function TenantState({ status }: { status: Tenant["status"] }) {
  return status === "active" ? (
    <Badge tone="ok">
      <Trans>Active</Trans>
    </Badge>
  ) : (
    <Badge tone="warn">
      <Trans>Suspended</Trans>
    </Badge>
  );
}
