import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { FlaskConical, Pencil, Power, RefreshCw, Trash2, Webhook } from "lucide-react";
import { useState } from "react";
import { ApiError, type Schemas, useTenant } from "@/api";
import {
  Badge,
  Button,
  Confirm,
  Dialog,
  DialogButtons,
  Empty,
  ErrorPanel,
  Facts,
  Filters,
  Form,
  Link,
  List,
  Menu,
  MenuItem,
  MenuLine,
  pageOf,
  Section,
  SelectField,
  SelectFilter,
  ShownOnce,
  Time,
  toast,
  toastError,
  useSearchParameters,
} from "@/ui";
import type { Trigger } from "./config";
import { HookDelivery } from "./HookDelivery";
import { HookForm } from "./HookForm";
import { HookTest } from "./HookTest";
import { presets, type Scheme } from "./scheme";
import { kindWords, verdicts } from "./words";

type Delivery = Schemas["HookDelivery"];

/** The hook of a trigger: its address, who may send, and what it has received. */
export function HookSection({ trigger }: { trigger: Trigger }) {
  const { t, i18n } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const [doing, setDoing] = useState<"edit" | "test" | "rotate" | "remove" | null>(null);
  const [address, setAddress] = useState<string | null>(null);
  const { verdict, delivery: opened } = parameters;
  const path = { params: { path: { id: trigger.id } } };
  // That there is no hook is an answer, and no failure.
  const {
    data: hook,
    error,
    refetch,
  } = useQuery({
    queryKey: ["get", "/triggers/{id}/hook", trigger.id],
    queryFn: () =>
      client.GET("/triggers/{id}/hook", path).then(
        ({ data }) => data ?? null,
        (failure) => {
          if (failure instanceof ApiError && failure.status === 404) return null;
          throw failure;
        },
      ),
  });
  const isNone = hook === null;
  const deliveries = api.useQuery(
    "get",
    "/triggers/{id}/hook/deliveries",
    { params: { ...path.params, query: { ...pageOf(parameters), verdict: verdict as Delivery["verdict"] | undefined } } },
    { placeholderData: keepPreviousData, refetchInterval: 5_000, enabled: !!hook },
  );
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
  const form = (doing === "edit" || (parameters.doing === "hook" && isNone)) && (
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
      <Section title={<Trans>Hook</Trans>}>
        <Empty
          title={<Trans>No third party can call it</Trans>}
          action={
            can("editor") && (
              <Button icon={Webhook} onClick={() => setDoing("edit")}>
                <Trans>Create a hook</Trans>
              </Button>
            )
          }
        >
          <Trans>A hook gives it an address for GitHub, Stripe and others, which have no key and sign what they send.</Trans>
        </Empty>
        {form}
      </Section>
    );
  }
  if (!hook) return error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : null;
  const toggle = async () => {
    try {
      await client.PATCH("/triggers/{id}/hook", { ...path, body: { isActive: !hook.isActive } });
      await refetch();
    } catch (failure) {
      toastError(failure);
    }
  };
  const scheme = hook.scheme as Scheme;
  const sender = scheme.preset ? presets[scheme.preset as keyof typeof presets] : i18n._(kindWords[scheme.kind ?? ""] ?? { id: scheme.kind ?? "" });
  return (
    <>
      <Section
        title={<Trans>Hook</Trans>}
        actions={
          can("editor") && (
            <Menu label={t`Actions for the hook`}>
              <MenuItem icon={Pencil} onSelect={() => setDoing("edit")}>
                <Trans>Edit</Trans>
              </MenuItem>
              <MenuItem icon={FlaskConical} onSelect={() => setDoing("test")}>
                <Trans>Check a signature</Trans>
              </MenuItem>
              <MenuItem icon={RefreshCw} onSelect={() => setDoing("rotate")}>
                <Trans>New address</Trans>
              </MenuItem>
              <MenuItem icon={Power} onSelect={() => void toggle()}>
                {hook.isActive ? <Trans>Switch off</Trans> : <Trans>Switch on</Trans>}
              </MenuItem>
              <MenuLine />
              <MenuItem icon={Trash2} isDangerous onSelect={() => setDoing("remove")}>
                <Trans>Delete</Trans>
              </MenuItem>
            </Menu>
          )
        }
      >
        {hook.warnings?.map((warning) => (
          <p key={warning} className="text-warn">
            {warning}
          </p>
        ))}
        <Facts
          facts={[
            [
              <Trans key="l">State</Trans>,
              <Badge key="v" tone={hook.isActive ? "ok" : "quiet"}>
                {hook.isActive ? <Trans>On</Trans> : <Trans>Off: deliveries start nothing</Trans>}
              </Badge>,
            ],
            [<Trans key="l">Sender</Trans>, sender],
            [
              <Trans key="l">Address</Trans>,
              <code key="v" className="break-all">
                {hook.url}
              </code>,
            ],
            [<Trans key="l">The old address ends</Trans>, hook.oldUrlUntil && <Time key="v" at={hook.oldUrlUntil} />],
            [
              <Trans key="l">Secrets</Trans>,
              hook.secrets.length > 0 &&
                hook.secrets.map((connection) => (
                  <Link key={connection} to={`/t/${tenantId}/connections/${connection}`} className="block truncate text-accent hover:underline">
                    {connection}
                  </Link>
                )),
            ],
            [<Trans key="l">Event</Trans>, <Expression key="v" own={hook.event} usual={hook.defaults.event} />],
            [<Trans key="l">Entity</Trans>, <Expression key="v" own={hook.entityId} usual={hook.defaults.entityId} />],
            [<Trans key="l">Told apart by</Trans>, <Expression key="v" own={hook.dedupe} usual={hook.defaults.dedupe} />],
            [<Trans key="l">Filter</Trans>, hook.filter && <Expression key="v" own={hook.filter} />],
          ]}
        />
      </Section>
      <Section title={<Trans>Received</Trans>}>
        <Filters>
          <SelectFilter name="verdict" label={t`Verdict`}>
            <option value="">{t`All verdicts`}</option>
            {Object.entries(verdicts).map(([value, { word }]) => (
              <option key={value} value={value}>
                {i18n._(word)}
              </option>
            ))}
          </SelectFilter>
        </Filters>
        <List<Delivery>
          label={t`Received`}
          rowKey={({ id }) => id}
          query={deliveries}
          isFiltered={!!verdict}
          columns={[
            {
              head: <Trans>Received</Trans>,
              cell: ({ id, receivedAt }) => (
                <button type="button" className="text-accent hover:underline" onClick={() => setParameters({ ...parameters, delivery: id })}>
                  <Time at={receivedAt} />
                </button>
              ),
            },
            { head: <Trans>Verdict</Trans>, cell: (one) => <Badge tone={verdicts[one.verdict].tone}>{i18n._(verdicts[one.verdict].word)}</Badge> },
            { head: <Trans>Why</Trans>, cell: ({ code }) => code && <code>{code}</code>, isMinor: true },
            { head: <Trans>Runs</Trans>, cell: ({ runIds }) => runIds.length, isNumber: true },
          ]}
          empty={
            <Empty title={<Trans>Nothing was received yet</Trans>}>
              <Trans>Give the address to the sender, and have it send a test.</Trans>
            </Empty>
          }
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
        <Dialog title={t`Make a new address?`} description={t`The sender has to be given the new one.`} isOpen onClose={close}>
          <Form error={rotate.error} onSubmit={(data) => rotate.mutate({ ...path, body: { graceSeconds: Number(data.get("graceSeconds")) } })}>
            <SelectField name="graceSeconds" label={t`The old address ends`} defaultValue="86400">
              <option value="0">{t`at once`}</option>
              <option value="3600">{t`in an hour`}</option>
              <option value="86400">{t`in a day`}</option>
              <option value="604800">{t`in a week`}</option>
            </SelectField>
            <DialogButtons>
              <Button onClick={close}>
                <Trans>Cancel</Trans>
              </Button>
              <Button type="submit" look="primary" isBusy={rotate.isPending}>
                <Trans>Make a new address</Trans>
              </Button>
            </DialogButtons>
          </Form>
        </Dialog>
      )}
      {address && (
        <Dialog
          title={t`The hook's address`}
          description={t`Give it to the sender. It is shown this once, since whoever has it can send.`}
          isOpen
          isSticky
          onClose={() => setAddress(null)}
        >
          <div className="flex flex-col gap-4">
            <ShownOnce label={t`The hook's address`} text={address} />
            <DialogButtons>
              <Button look="primary" onClick={() => setAddress(null)}>
                <Trans>I have copied it</Trans>
              </Button>
            </DialogButtons>
          </div>
        </Dialog>
      )}
      <Confirm
        isOpen={doing === "remove"}
        onClose={close}
        title={<Trans>Delete the hook?</Trans>}
        action={<Trans>Delete the hook</Trans>}
        onConfirm={async () => {
          await client.DELETE("/triggers/{id}/hook", path);
          await refetch();
        }}
      >
        <p>
          <Trans>
            Its address answers no more, and the {deliveries.data?.total ?? 0} deliveries that it has received are gone for good. The trigger and its
            runs stay.
          </Trans>
        </p>
      </Confirm>
    </>
  );
}

/** An expression of the hook's own, or the one that its preset has. */
function Expression({ own, usual }: { own: string | undefined; usual?: string }) {
  const shown = own ?? usual;
  return shown ? <code className="break-all">{shown}</code> : <span className="text-quiet">—</span>;
}
