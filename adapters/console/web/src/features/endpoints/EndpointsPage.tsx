import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
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
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { EndpointForm } from "./EndpointForm";
import { NewSecret } from "./NewSecret";
import { EndpointState } from "./State";

type Endpoint = Schemas["WebhookEndpoint"];

export default function EndpointsPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Endpoint | null>(null);
  const { search, active } = parameters;
  const isActive = active === "true" ? true : active === "false" ? false : undefined;
  const query = api.useQuery(
    "get",
    "/webhook-endpoints",
    { params: { query: { ...pageOf(parameters), search, isActive } } },
    { placeholderData: keepPreviousData },
  );
  useShortcut(can("admin") ? { keys: "c", label: t`Create a webhook endpoint`, run: () => setCreating(true) } : undefined);

  const columns: Column<Endpoint>[] = [
    {
      head: <Trans>URL</Trans>,
      cell: (endpoint) => (
        <div className="min-w-40 break-all">
          <Link to={`/t/${id}/endpoints/${endpoint.id}`}>{endpoint.url}</Link>
          {endpoint.description && <p className="line-clamp-1 text-quiet">{endpoint.description}</p>}
        </div>
      ),
    },
    { head: <Trans>State</Trans>, cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
    {
      head: <Trans>Events</Trans>,
      cell: ({ events }) =>
        events.length === 0 ? (
          <Trans>all</Trans>
        ) : (
          events.map((type) => (
            <code key={type} className="mr-2">
              {type}
            </code>
          ))
        ),
      isMinor: true,
    },
    { head: <Trans>Changed</Trans>, cell: (endpoint) => <Time at={endpoint.updatedAt} />, isMinor: true },
  ];
  const create = can("admin") && (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      <Trans>Create a webhook endpoint</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Webhook endpoints`}
      description={<Trans>Your servers hear there what becomes of runs. What is sent is signed, and sent again until it is taken.</Trans>}
      actions={create}
    >
      <Filters>
        <SearchFilter />
        <SelectFilter name="active" label={t`State`}>
          <option value="">{t`On and off`}</option>
          <option value="true">{t`On`}</option>
          <option value="false">{t`Off`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`Webhook endpoints`}
        columns={columns}
        rowKey={(endpoint) => endpoint.id}
        query={query}
        isFiltered={!!(search || active)}
        empty={
          <Empty title={<Trans>There are no webhook endpoints yet</Trans>} action={create}>
            <Trans>Create one, and your server is told when a run ends, fails, or waits for somebody.</Trans>
          </Empty>
        }
      />
      {isCreating && (
        <EndpointForm
          onClose={() => setCreating(false)}
          onDone={(saved) => {
            setCreating(false);
            setMade(saved);
            void queries.invalidateQueries({ queryKey: ["get", "/webhook-endpoints"] });
          }}
        />
      )}
      {made && <NewSecret secret={made.secret ?? ""} onClose={() => void navigate({ to: `/t/${id}/endpoints/${made.id}` })} />}
    </Page>
  );
}
