import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Pencil, Power, RefreshCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import {
  Button,
  type Column,
  Confirm,
  Empty,
  ErrorPanel,
  Facts,
  Filters,
  Identifier,
  Link,
  List,
  Menu,
  MenuItem,
  MenuLine,
  Page,
  pageOf,
  Section,
  SelectFilter,
  Skeleton,
  Time,
  toast,
  toastError,
  useSearchParameters,
} from "@/ui";
import { DeliveryDialog } from "./DeliveryDialog";
import { EndpointForm } from "./EndpointForm";
import { eventTypes } from "./events";
import { NewSecret } from "./NewSecret";
import { DeliveryState, EndpointState } from "./State";

type Delivery = Schemas["Delivery"];
type Doing = "edit" | "rotate" | "remove" | null;

export default function EndpointPage() {
  const { t } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { endpointId } = useParams({ strict: false }) as { endpointId: string };
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [doing, setDoing] = useState<Doing>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [parameters, setParameters] = useSearchParameters();
  const path = { params: { path: { id: endpointId } } };
  const { data: endpoint, error, refetch } = api.useQuery("get", "/webhook-endpoints/{id}", path);
  const { status, eventType, delivery: opened } = parameters;
  const deliveries = api.useQuery(
    "get",
    "/webhook-endpoints/{id}/deliveries",
    {
      params: {
        ...path.params,
        query: { ...pageOf(parameters), status: status as Delivery["status"] | undefined, eventType: eventType as Delivery["eventType"] | undefined },
      },
    },
    { placeholderData: keepPreviousData },
  );
  const reload = () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[1]).startsWith("/webhook-endpoints") });
  const parents = [{ label: <Trans>Webhook endpoints</Trans>, to: `/t/${tenantId}/endpoints` }];
  const close = () => setDoing(null);

  if (!endpoint) {
    return (
      <Page title={t`Webhook endpoint`} parents={parents}>
        {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}
      </Page>
    );
  }
  const attempt = async (what: Promise<unknown>, done: string) => {
    try {
      await what;
      await reload();
      toast(done);
    } catch (failure) {
      toastError(failure);
    }
  };
  const columns: Column<Delivery>[] = [
    {
      head: <Trans>Event</Trans>,
      cell: (delivery) => (
        <button type="button" className="text-accent hover:underline" onClick={() => setParameters({ ...parameters, delivery: delivery.id })}>
          <code>{delivery.eventType}</code>
        </button>
      ),
    },
    { head: <Trans>State</Trans>, cell: (delivery) => <DeliveryState status={delivery.status} /> },
    { head: <Trans>Attempts</Trans>, cell: (delivery) => delivery.attemptCount, isNumber: true },
    { head: <Trans>Why</Trans>, cell: (delivery) => delivery.reason ?? delivery.attempts.at(-1)?.error, isMinor: true },
    { head: <Trans>Next attempt</Trans>, cell: (delivery) => delivery.nextAttemptAt && <Time at={delivery.nextAttemptAt} />, isMinor: true },
    { head: <Trans>Created</Trans>, cell: (delivery) => <Time at={delivery.createdAt} /> },
  ];
  return (
    <Page
      title={endpoint.url}
      parents={parents}
      description={endpoint.description}
      actions={
        can("admin") && (
          <>
            <Button
              icon={Send}
              disabled={!endpoint.isActive}
              onClick={() => void attempt(client.POST("/webhook-endpoints/{id}/test", path), t`A test event is on its way`)}
            >
              <Trans>Send a test event</Trans>
            </Button>
            <Menu label={t`Actions for ${endpoint.url}`}>
              <MenuItem icon={Pencil} onSelect={() => setDoing("edit")}>
                <Trans>Edit</Trans>
              </MenuItem>
              <MenuItem icon={RefreshCw} onSelect={() => setDoing("rotate")}>
                <Trans>Rotate the secret</Trans>
              </MenuItem>
              <MenuItem
                icon={Power}
                onSelect={() =>
                  void attempt(
                    client.PATCH("/webhook-endpoints/{id}", { ...path, body: { isActive: !endpoint.isActive } }),
                    endpoint.isActive ? t`The endpoint is paused` : t`The endpoint is on`,
                  )
                }
              >
                {endpoint.isActive ? <Trans>Pause</Trans> : <Trans>Switch on</Trans>}
              </MenuItem>
              <MenuLine />
              <MenuItem icon={Trash2} isDangerous onSelect={() => setDoing("remove")}>
                <Trans>Delete</Trans>
              </MenuItem>
            </Menu>
          </>
        )
      }
    >
      <Facts
        facts={[
          [<Trans key="l">State</Trans>, <EndpointState key="v" endpoint={endpoint} />],
          [<Trans key="l">Events</Trans>, endpoint.events.length ? endpoint.events.join(", ") : t`all`],
          [<Trans key="l">Identifier</Trans>, <Identifier key="v" id={endpoint.id} />],
          [<Trans key="l">Sub-tenant</Trans>, endpoint.subTenantId],
          [
            <Trans key="l">Connection</Trans>,
            endpoint.connection && (
              <Link key="v" to={`/t/${tenantId}/connections/${endpoint.connection}`}>
                {endpoint.connection}
              </Link>
            ),
          ],
          [<Trans key="l">Runs of runs, too</Trans>, endpoint.includeChildren ? t`yes` : t`no`],
          [<Trans key="l">Changed</Trans>, <Time key="v" at={endpoint.updatedAt} />],
        ]}
      />
      <Section title={<Trans>Deliveries</Trans>}>
        <Filters>
          <SelectFilter name="status" label={t`State`}>
            <option value="">{t`All states`}</option>
            <option value="pending">{t`Pending`}</option>
            <option value="delivered">{t`Delivered`}</option>
            <option value="failed">{t`Failed`}</option>
          </SelectFilter>
          <SelectFilter name="eventType" label={t`Event`}>
            <option value="">{t`All events`}</option>
            {[...eventTypes, "webhook_endpoint.test"].map((type) => (
              <option key={type}>{type}</option>
            ))}
          </SelectFilter>
        </Filters>
        <List
          label={t`Deliveries`}
          columns={columns}
          rowKey={(delivery) => delivery.id}
          query={deliveries}
          isFiltered={!!(status || eventType)}
          empty={
            <Empty title={<Trans>Nothing was sent yet</Trans>}>
              <Trans>Send a test event, and see here what your server answers.</Trans>
            </Empty>
          }
        />
      </Section>
      {opened && <DeliveryDialog deliveryId={opened} onClose={() => setParameters({ ...parameters, delivery: undefined })} />}
      {doing === "edit" && (
        <EndpointForm
          endpoint={endpoint}
          onClose={close}
          onDone={() => {
            close();
            void reload();
            toast(t`The endpoint was saved`);
          }}
        />
      )}
      {secret && (
        <NewSecret secret={secret} onClose={() => setSecret(null)}>
          <p>
            <Trans>The old secret signs as well for 24 hours, so that nothing is refused meanwhile.</Trans>
          </p>
        </NewSecret>
      )}
      <Confirm
        isOpen={doing === "rotate"}
        onClose={close}
        isDangerous={false}
        title={<Trans>Rotate the secret?</Trans>}
        action={<Trans>Rotate the secret</Trans>}
        onConfirm={async () => {
          const { data } = await client.POST("/webhook-endpoints/{id}/rotate-secret", path);
          setSecret(data?.secret ?? null);
        }}
      >
        <p>
          <Trans>You get a new secret. For 24 hours both sign, and your receiver takes what either of them signed.</Trans>
        </p>
      </Confirm>
      <Confirm
        isOpen={doing === "remove"}
        onClose={close}
        title={<Trans>Delete this endpoint?</Trans>}
        action={<Trans>Delete the endpoint</Trans>}
        onConfirm={async () => {
          await client.DELETE("/webhook-endpoints/{id}", path);
          await navigate({ to: `/t/${tenantId}/endpoints` });
          await queries.invalidateQueries({ queryKey: ["get", "/webhook-endpoints"] });
        }}
      >
        <p>
          <Trans>Nothing is sent to {endpoint.url} any more. These go with it, for good:</Trans>
        </p>
        <ul className="list-disc pl-5">
          <li>
            <Trans>its secret</Trans>
          </li>
          <li>
            <Trans>its {deliveries.data?.total ?? 0} deliveries, also those that are still to be made</Trans>
          </li>
        </ul>
      </Confirm>
    </Page>
  );
}
