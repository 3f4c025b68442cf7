import { useLingui } from "@lingui/react/macro";
import { FlaskConical, Pencil, Power, RefreshCw, Trash2, Webhook } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems } from "@/parts";
import { HookAddress, HookForm, type Scheme, type Trigger, useHook, useSender, verdicts } from "@/parts/triggers";
import {
  attempt,
  Button,
  Confirm,
  Empty,
  ErrorPanel,
  Fact,
  Facts,
  Filters,
  FormDialog,
  GraceField,
  Link,
  List,
  Menu,
  MenuItem,
  MenuLine,
  OnOff,
  Section,
  SelectFilter,
  StateBadge,
  Time,
  toast,
  useSearchParameters,
} from "@/ui";
import { HookDelivery } from "./HookDelivery";
import { HookTest } from "./HookTest";

type Delivery = Schemas["HookDelivery"];

/** The hook of a trigger: its address, who may send, and what it has received. */
export function HookSection({ trigger }: { trigger: Trigger }) {
  const { t } = useLingui();
  const senderOf = useSender();
  const { api, client, id: tenantId, can } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const [doing, setDoing] = useState<"edit" | "test" | "rotate" | "remove" | null>(null);
  const [address, setAddress] = useState<string | null>(null);
  const { delivery: opened } = parameters;
  const path = { params: { path: { id: trigger.id } } };
  const { data: hook, error, refetch } = useHook(trigger.id);
  const isNone = hook === null;
  const deliveries = useItems(api, "/triggers/{id}/hook/deliveries", ["verdict"], { ...path.params, refetchInterval: 5_000, enabled: !!hook });
  const rotate = api.useMutation("post", "/triggers/{id}/hook/rotate", {
    onSuccess: (made) => {
      setDoing(null);
      setAddress(made.url);
      void refetch();
    },
  });
  const close = () => {
    setDoing(null);
    if (parameters.doing) setParameters({ ...parameters, doing: undefined });
  };
  const form = can("editor") && (doing === "edit" || (parameters.doing === "hook" && isNone)) && (
    <HookForm
      trigger={trigger}
      hook={hook ?? undefined}
      onClose={close}
      onDone={(saved) => {
        if (isNone) setAddress(saved.url);
        else toast(t`The hook was saved`);
        close();
        void refetch();
      }}
    />
  );

  if (isNone) {
    return (
      <Section title={t`Hook`}>
        <Empty
          title={t`No third party can call it`}
          action={can("editor") && <Button icon={Webhook} label={t`Create a hook`} onClick={() => setDoing("edit")} />}
        >
          {t`A hook gives it an address for GitHub, Stripe and others, which have no key and sign what they send.`}
        </Empty>
        {form}
      </Section>
    );
  }
  if (!hook) return error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : null;
  const toggle = () =>
    attempt(
      client.PATCH("/triggers/{id}/hook", { ...path, body: { isActive: !hook.isActive } }).then(() => refetch()),
      hook.isActive ? t`The hook is off` : t`The hook is on`,
    );
  return (
    <>
      <Section
        title={t`Hook`}
        actions={
          can("editor") && (
            <Menu label={t`Actions for the hook`}>
              <MenuItem icon={Pencil} label={t`Edit`} onSelect={() => setDoing("edit")} />
              <MenuItem icon={FlaskConical} label={t`Check a signature`} onSelect={() => setDoing("test")} />
              <MenuItem icon={RefreshCw} label={t`New address`} onSelect={() => setDoing("rotate")} />
              <MenuItem icon={Power} label={hook.isActive ? t`Switch off` : t`Switch on`} onSelect={toggle} />
              <MenuLine />
              <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => setDoing("remove")} />
            </Menu>
          )
        }
      >
        {hook.warnings?.map((warning) => (
          <p key={warning} className="text-warn">
            {warning}
          </p>
        ))}
        <Facts>
          <Fact label={t`State`} value={<OnOff of={hook} off={t`Off: deliveries start nothing`} />} />
          <Fact label={t`Sender`} value={senderOf(hook.scheme as Scheme)} />
          <Fact label={t`Address`} value={<code className="break-all">{hook.url}</code>} />
          <Fact label={t`The old address ends`} value={hook.oldUrlUntil && <Time at={hook.oldUrlUntil} />} />
          <Fact
            label={t`Secrets`}
            value={
              hook.secrets.length > 0 &&
              hook.secrets.map((connection) => (
                <Link key={connection} to={`/t/${tenantId}/connections/${connection}`} className="block truncate text-accent hover:underline">
                  {connection}
                </Link>
              ))
            }
          />
          <Fact label={t`Event`} value={<Expression own={hook.event} usual={hook.defaults.event} />} />
          <Fact label={t`Entity`} value={<Expression own={hook.entityId} usual={hook.defaults.entityId} />} />
          <Fact label={t`Told apart by`} value={<Expression own={hook.dedupe} usual={hook.defaults.dedupe} />} />
          <Fact label={t`Filter`} value={hook.filter && <Expression own={hook.filter} />} />
        </Facts>
      </Section>
      <Section title={t`Received`}>
        <Filters>
          <SelectFilter name="verdict" label={t`Verdict`} all={t`All verdicts`} options={verdicts} />
        </Filters>
        <List<Delivery>
          label={t`Received`}
          rowKey={({ id }) => id}
          query={deliveries}
          columns={[
            {
              head: t`Received`,
              cell: ({ id, receivedAt }) => (
                <button type="button" className="text-accent hover:underline" onClick={() => setParameters({ ...parameters, delivery: id })}>
                  <Time at={receivedAt} />
                </button>
              ),
              width: "short",
            },
            { head: t`Verdict`, cell: (one) => <StateBadge of={verdicts[one.verdict]} />, width: "short" },
            { head: t`Why`, cell: ({ code }) => code && <code>{code}</code>, isMinor: true },
            { head: t`Runs`, cell: ({ runIds }) => runIds.length, isNumber: true },
          ]}
          empty={<Empty title={t`Nothing was received yet`}>{t`Give the address to the sender, and have it send a test.`}</Empty>}
        />
      </Section>
      {form}
      {opened && (
        <HookDelivery
          triggerId={trigger.id}
          deliveryId={opened}
          onClose={() => setParameters({ ...parameters, delivery: undefined })}
          onDone={(made) => {
            toast(t`It was played again`);
            setParameters({ ...parameters, delivery: made });
            void deliveries.refetch();
          }}
        />
      )}
      {doing === "test" && <HookTest triggerId={trigger.id} onClose={close} />}
      {doing === "rotate" && (
        <FormDialog
          title={t`Make a new address?`}
          description={t`The sender has to be given the new one.`}
          onClose={close}
          request={rotate}
          onSubmit={(data) => rotate.mutate({ ...path, body: { graceSeconds: Number(data.get("graceSeconds")) } })}
          action={t`Make a new address`}
        >
          <GraceField label={t`The old address ends`} defaultValue="86400" most={604_800} />
        </FormDialog>
      )}
      {address && <HookAddress url={address} onClose={() => setAddress(null)} />}
      {doing === "remove" && (
        <Confirm
          onClose={close}
          title={t`Delete the hook?`}
          action={t`Delete the hook`}
          onConfirm={async () => {
            await client.DELETE("/triggers/{id}/hook", path);
            await refetch();
          }}
        >
          <p>{t`Its address answers no more, and the deliveries that it has received are gone for good. The trigger and its runs stay.`}</p>
        </Confirm>
      )}
    </>
  );
}

/** An expression of the hook's own, or the one that its preset has. */
function Expression({ own, usual }: { own: string | undefined; usual?: string }) {
  const shown = own ?? usual;
  return shown ? <code className="break-all">{shown}</code> : <span className="text-quiet">—</span>;
}
