import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import { type Column, Link, ListPage, OnOffFilter, SearchFilter, Time } from "@/ui";
import { EndpointForm } from "./EndpointForm";
import { NewSecret } from "./NewSecret";
import { EndpointState } from "./State";

type Endpoint = Schemas["WebhookEndpoint"];

export default function EndpointsPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const reload = useReload("/webhook-endpoints");
  const [made, setMade] = useState<Endpoint | null>(null);
  const columns: Column<Endpoint>[] = [
    {
      head: t`URL`,
      cell: (endpoint) => (
        <div>
          <Link to={`/t/${id}/endpoints/${endpoint.id}`}>{endpoint.url}</Link>
          {endpoint.description && <p className="line-clamp-1 text-quiet">{endpoint.description}</p>}
        </div>
      ),
    },
    { head: t`State`, cell: (endpoint) => <EndpointState endpoint={endpoint} />, width: "short" },
    {
      head: t`Events`,
      cell: ({ events }) =>
        events.length === 0
          ? t`all`
          : events.map((type) => (
              <code key={type} className="mr-2">
                {type}
              </code>
            )),
      isMinor: true,
    },
    { head: t`Changed`, cell: (endpoint) => <Time at={endpoint.updatedAt} />, width: "short", isMinor: true },
  ];
  return (
    <ListPage
      title={t`Webhook endpoints`}
      description={t`Your servers hear there what becomes of runs. What is sent is signed, and sent again until it is taken.`}
      query={useItems(api, "/webhook-endpoints", ["search", "isActive"])}
      columns={columns}
      filters={
        <>
          <SearchFilter />
          <OnOffFilter />
        </>
      }
      empty={{
        title: t`There are no webhook endpoints yet`,
        text: t`Create one, and your server is told when a run ends, fails, or waits for somebody.`,
      }}
      create={
        can("admin") && {
          label: t`Create a webhook endpoint`,
          dialog: (onClose) => (
            <EndpointForm
              onClose={onClose}
              onDone={(saved) => {
                onClose();
                setMade(saved);
                void reload();
              }}
            />
          ),
        }
      }
    >
      {made && <NewSecret secret={made.secret ?? ""} onClose={() => void navigate({ to: `/t/${id}/endpoints/${made.id}` })} />}
    </ListPage>
  );
}
