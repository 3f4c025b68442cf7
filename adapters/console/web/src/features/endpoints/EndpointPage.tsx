import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Pencil, Power, RefreshCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import {
  attempt,
  Button,
  type Column,
  Confirm,
  Empty,
  Fact,
  Facts,
  Filters,
  Identifier,
  Link,
  List,
  Menu,
  MenuItem,
  MenuLine,
  Page,
  Section,
  SelectFilter,
  StateBadge,
  Time,
  toast,
  UnreadPage,
  useSearchParameters,
} from "@/ui";
import { DeliveryDialog } from "./DeliveryDialog";
import { EndpointForm } from "./EndpointForm";
import { deliveryStates, eventTypes } from "./events";
import { NewSecret } from "./NewSecret";
import { EndpointState } from "./State";

type Delivery = Schemas["Delivery"];

export default function EndpointPage() {
  const { t } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { endpointId } = useParams({ strict: false }) as { endpointId: string };
  const navigate = useNavigate();
  const reload = useReload("/webhook-endpoints");
  const [doing, setDoing] = useState<"edit" | "rotate" | "remove" | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [parameters, setParameters] = useSearchParameters();
  const path = { params: { path: { id: endpointId } } };
  const read = api.useQuery("get", "/webhook-endpoints/{id}", path);
  const endpoint = read.data;
  const deliveries = useItems(api, "/webhook-endpoints/{id}/deliveries", ["status", "eventType"], path.params);
  const parents = [{ label: t`Webhook endpoints`, to: `/t/${tenantId}/endpoints` }];
  const close = () => setDoing(null);

  if (!endpoint) return <UnreadPage title={t`Webhook endpoint`} parents={parents} query={read} />;
  const sendTest = () => attempt(client.POST("/webhook-endpoints/{id}/test", path).then(reload), t`A test event is on its way`);
  const toggle = () =>
    attempt(
      client.PATCH("/webhook-endpoints/{id}", { ...path, body: { isActive: !endpoint.isActive } }).then(reload),
      endpoint.isActive ? t`The endpoint is paused` : t`The endpoint is on`,
    );
  const columns: Column<Delivery>[] = [
    {
      head: t`Event`,
      cell: (delivery) => (
        <button
          type="button"
          className="text-left text-accent hover:underline"
          onClick={() => setParameters({ ...parameters, delivery: delivery.id })}
        >
          <code>{delivery.eventType}</code>
        </button>
      ),
    },
    { head: t`State`, cell: (delivery) => <StateBadge of={deliveryStates[delivery.status]} />, width: "short" },
    { head: t`Attempts`, cell: (delivery) => delivery.attemptCount, isNumber: true },
    { head: t`Why`, cell: (delivery) => delivery.attempts.at(-1)?.error ?? delivery.reason, isMinor: true },
    { head: t`Next attempt`, cell: (delivery) => delivery.nextAttemptAt && <Time at={delivery.nextAttemptAt} />, width: "short", isMinor: true },
    { head: t`Created`, cell: (delivery) => <Time at={delivery.createdAt} />, width: "short" },
  ];
  return (
    <Page
      title={endpoint.url}
      parents={parents}
      description={endpoint.description}
      actions={
        can("admin") && (
          <>
            <Button icon={Send} label={t`Send a test event`} disabled={!endpoint.isActive} onClick={sendTest} />
            <Menu label={t`Actions for ${endpoint.url}`}>
              <MenuItem icon={Pencil} label={t`Edit`} onSelect={() => setDoing("edit")} />
              <MenuItem icon={RefreshCw} label={t`Rotate the secret`} onSelect={() => setDoing("rotate")} />
              <MenuItem icon={Power} label={endpoint.isActive ? t`Pause` : t`Switch on`} onSelect={toggle} />
              <MenuLine />
              <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => setDoing("remove")} />
            </Menu>
          </>
        )
      }
    >
      <Facts>
        <Fact label={t`State`} value={<EndpointState endpoint={endpoint} />} />
        <Fact label={t`Events`} value={endpoint.events.length ? endpoint.events.join(", ") : t`all`} />
        <Fact label={t`Identifier`} value={<Identifier id={endpoint.id} />} />
        <Fact label={t`Sub-tenant`} value={endpoint.subTenantId} />
        <Fact
          label={t`Connection`}
          value={endpoint.connection && <Link to={`/t/${tenantId}/connections/${endpoint.connection}`}>{endpoint.connection}</Link>}
        />
        <Fact label={t`Runs of runs, too`} value={endpoint.includeChildren ? t`yes` : t`no`} />
        <Fact label={t`Changed`} value={<Time at={endpoint.updatedAt} />} />
      </Facts>
      <Section title={t`Deliveries`}>
        <Filters>
          <SelectFilter name="status" label={t`State`} all={t`All states`} options={deliveryStates} />
          <SelectFilter
            name="eventType"
            label={t`Event`}
            all={t`All events`}
            options={Object.fromEntries([...eventTypes, "webhook_endpoint.test"].map((type) => [type, type]))}
          />
        </Filters>
        <List
          label={t`Deliveries`}
          columns={columns}
          rowKey={(delivery) => delivery.id}
          query={deliveries}
          empty={<Empty title={t`Nothing was sent yet`}>{t`Send a test event, and see here what your server answers.`}</Empty>}
        />
      </Section>
      {parameters.delivery && (
        <DeliveryDialog deliveryId={parameters.delivery} onClose={() => setParameters({ ...parameters, delivery: undefined })} />
      )}
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
          <p>{t`The old secret signs as well for 24 hours, so that nothing is refused meanwhile.`}</p>
        </NewSecret>
      )}
      {doing === "rotate" && (
        <Confirm
          onClose={close}
          isDangerous={false}
          title={t`Rotate the secret?`}
          action={t`Rotate the secret`}
          onConfirm={async () => {
            const { data } = await client.POST("/webhook-endpoints/{id}/rotate-secret", path);
            setSecret(data?.secret ?? null);
          }}
        >
          <p>{t`You get a new secret. For 24 hours both sign, and your receiver takes what either of them signed.`}</p>
        </Confirm>
      )}
      {doing === "remove" && (
        <Confirm
          onClose={close}
          title={t`Delete this endpoint?`}
          action={t`Delete the endpoint`}
          onConfirm={async () => {
            await client.DELETE("/webhook-endpoints/{id}", path);
            await navigate({ to: `/t/${tenantId}/endpoints` });
            await reload();
          }}
        >
          <p>
            <Trans>Nothing is sent to {endpoint.url} any more. These go with it, for good:</Trans>
          </p>
          <ul className="list-disc pl-5">
            <li>{t`its secret`}</li>
            <li>{t`its deliveries, also those that are still to be made`}</li>
          </ul>
        </Confirm>
      )}
    </Page>
  );
}
