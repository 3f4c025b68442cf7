import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import { ConnectionForm, kindWords } from "@/parts/connections";
import { type Column, Link, ListPage, OnOff, OnOffFilter, SearchFilter, SelectFilter, Time } from "@/ui";

type Connection = Schemas["Connection"];

export default function ConnectionsPage() {
  const { t, i18n } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const reload = useReload("/connections");
  const columns: Column<Connection>[] = [
    { head: t`Name`, cell: (connection) => <Link to={`/t/${id}/connections/${connection.id}`}>{connection.name}</Link> },
    { head: t`Kind`, cell: (connection) => i18n._(kindWords[connection.kind]), width: "short" },
    {
      head: t`Hosts`,
      cell: ({ hosts }) =>
        hosts.map((host) => (
          <code key={host} className="mr-2 break-all">
            {host}
          </code>
        )),
      isMinor: true,
    },
    { head: t`State`, cell: (connection) => <OnOff of={connection} />, width: "short" },
    { head: t`Sub-tenant`, cell: (connection) => connection.subTenantId ?? (connection.shared ? t`all` : "—"), isMinor: true },
    { head: t`Changed`, cell: (connection) => <Time at={connection.updatedAt} />, width: "short", isMinor: true },
  ];
  return (
    <ListPage
      title={t`Connections`}
      description={t`What workflows sign in with where they call others. A secret is sent to the hosts that you name, and nowhere else.`}
      query={useItems(api, "/connections", ["search", "kind", "isActive"])}
      columns={columns}
      filters={
        <>
          <SearchFilter />
          <SelectFilter name="kind" label={t`Kind`} all={t`All kinds`} options={kindWords} />
          <OnOffFilter />
        </>
      }
      empty={{
        title: t`There are no connections yet`,
        text: t`Create one, and name it in a node that calls others, in a hook, or in a webhook endpoint.`,
      }}
      create={
        can("editor") && {
          label: t`Create a connection`,
          dialog: (onClose) => (
            <ConnectionForm
              onClose={onClose}
              onDone={(made) => {
                void reload();
                void navigate({ to: `/t/${id}/connections/${made.id}` });
              }}
            />
          ),
        }
      }
    />
  );
}
