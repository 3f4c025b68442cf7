import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import {
  Badge,
  Button,
  type Column,
  Empty,
  Filters,
  Link,
  List,
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { ConnectionForm } from "./ConnectionForm";
import type { Kind } from "./secret";
import { kindWords } from "./words";

type Connection = Schemas["Connection"];

export default function ConnectionsPage() {
  const { t, i18n } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const { search, kind, active } = parameters;
  const isActive = active === "true" ? true : active === "false" ? false : undefined;
  const query = api.useQuery(
    "get",
    "/connections",
    { params: { query: { ...pageOf(parameters), search, isActive, kind: kind as Kind | undefined } } },
    { placeholderData: keepPreviousData },
  );
  useShortcut(can("editor") ? { keys: "c", label: t`Create a connection`, run: () => setCreating(true) } : undefined);

  const columns: Column<Connection>[] = [
    { head: <Trans>Name</Trans>, cell: (connection) => <Link to={`/t/${id}/connections/${connection.id}`}>{connection.name}</Link> },
    { head: <Trans>Kind</Trans>, cell: (connection) => i18n._(kindWords[connection.kind]) },
    {
      head: <Trans>Hosts</Trans>,
      cell: ({ hosts }) =>
        hosts.map((host) => (
          <code key={host} className="mr-2 break-all">
            {host}
          </code>
        )),
      isMinor: true,
    },
    {
      head: <Trans>State</Trans>,
      cell: (connection) => <Badge tone={connection.isActive ? "ok" : "quiet"}>{connection.isActive ? <Trans>On</Trans> : <Trans>Off</Trans>}</Badge>,
    },
    {
      head: <Trans>Sub-tenant</Trans>,
      cell: (connection) => connection.subTenantId ?? (connection.shared ? <Trans>all</Trans> : "—"),
      isMinor: true,
    },
    { head: <Trans>Changed</Trans>, cell: (connection) => <Time at={connection.updatedAt} />, isMinor: true },
  ];
  const create = can("editor") && (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      <Trans>Create a connection</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Connections`}
      description={<Trans>What workflows sign in with where they call others. A secret is sent to the hosts that you name, and nowhere else.</Trans>}
      actions={create}
    >
      <Filters>
        <SearchFilter />
        <SelectFilter name="kind" label={t`Kind`}>
          <option value="">{t`All kinds`}</option>
          {Object.entries(kindWords).map(([value, word]) => (
            <option key={value} value={value}>
              {i18n._(word)}
            </option>
          ))}
        </SelectFilter>
        <SelectFilter name="active" label={t`State`}>
          <option value="">{t`On and off`}</option>
          <option value="true">{t`On`}</option>
          <option value="false">{t`Off`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`Connections`}
        columns={columns}
        rowKey={(connection) => connection.id}
        query={query}
        isFiltered={!!(search || kind || active)}
        empty={
          <Empty title={<Trans>There are no connections yet</Trans>} action={create}>
            <Trans>Create one, and name it in a node that calls others, in a hook, or in a webhook endpoint.</Trans>
          </Empty>
        }
      />
      {isCreating && (
        <ConnectionForm
          onClose={() => setCreating(false)}
          onDone={(made) => {
            void queries.invalidateQueries({ queryKey: ["get", "/connections"] });
            void navigate({ to: `/t/${id}/connections/${made.id}` });
          }}
        />
      )}
    </Page>
  );
}
