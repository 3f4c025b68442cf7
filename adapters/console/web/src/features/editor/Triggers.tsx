import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { CalendarClock, ExternalLink, Megaphone, Pencil, Plus, Power, Webhook, X, Zap } from "lucide-react";
import { use, useEffect, useRef, useState } from "react";
import { base, type Schemas, useTenant } from "@/api";
import { useReload } from "@/parts";
import {
  Address,
  addressOf,
  type Config,
  HookAddress,
  HookForm,
  localTime,
  type Scheme,
  type Start,
  startOf,
  startWords,
  type Trigger,
  TriggerForm,
  useHook,
  useSender,
} from "@/parts/triggers";
import {
  attempt,
  Button,
  CopyButton,
  Dialog,
  DialogButtons,
  Empty,
  ErrorPanel,
  HasPage,
  IconButton,
  Menu,
  MenuItem,
  OnOff,
  Scroll,
  Skeleton,
  toast,
  toastError,
} from "@/ui";
import { useEditor, useSession } from "./context";
import { focusOnButton } from "./keys";

type Hook = Schemas["Hook"];
/** What is made or changed right now, and what was made and is shown. */
type Doing = { form: Trigger | "new" } | { hookOf: Trigger; hook?: Hook } | { address: Trigger } | { hookAddress: string };

const icons: Record<Start, typeof Zap> = { call: Zap, event: Megaphone, hook: Webhook, schedule: CalendarClock };

/** What starts the workflow, and the forms that make and change it. */
export default function Triggers() {
  const { t } = useLingui();
  const { api, may } = useTenant();
  const { editing, view, workflowId } = useEditor();
  const versionId = useSession((session) => session.versionId);
  const reload = useReload("/triggers");
  const [doing, setDoing] = useState<Doing>();
  const { data, error, refetch } = api.useQuery("get", "/triggers", { params: { query: { workflowId, limit: 100 } } });
  const versions = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId, isActive: true, limit: 1 } } }).data;
  const active = versions && (versions.items[0] ?? null); // undefined until it is known
  const close = () => setDoing(undefined);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const leave = () => {
    view.setState({ isListingTriggers: undefined });
    focusOnButton("triggers");
  };
  /** A trigger belongs to a version: one that was never saved is, first. */
  const add = async () => {
    await editing.flush();
    if (active || editing.store.getState().versionId) setDoing({ form: "new" });
    else toast(t`Add a node first: a trigger starts a version of the workflow.`);
  };
  const done = (saved: Trigger, start: Start) => {
    void reload();
    const isNew = doing && "form" in doing && doing.form === "new";
    if (!isNew) toast(t`The trigger was saved`);
    setDoing(!isNew || start === "schedule" ? undefined : start === "hook" ? { hookOf: saved } : { address: saved });
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <header className="flex items-center gap-2 border-b border-line py-2 pr-2 pl-4">
        <Zap aria-hidden className="size-4.5 shrink-0 text-accent" />
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 truncate font-semibold outline-none">
          {t`Triggers`}
        </h2>
        <IconButton icon={X} label={t`Close`} onClick={leave} />
      </header>
      <Scroll label={t`Triggers`} className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-4">
        {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : !data && <Skeleton />}
        {data?.items.length === 0 && <Empty title={t`Nothing starts it by itself yet`}>{t`A call, an event, a third party or the clock can.`}</Empty>}
        {data && data.items.length > 0 && active === null && (
          <p className="text-xs text-warn">{t`They start nothing before the workflow is published.`}</p>
        )}
        {data && data.items.length > 0 && (
          <ul className="flex flex-col gap-2">
            {data.items.map((trigger) => (
              <Row key={trigger.id} trigger={trigger} isIdle={Boolean(active) && trigger.workflowVersionId !== active?.id} onDo={setDoing} />
            ))}
          </ul>
        )}
        {may("triggers:write") && data && <Button icon={Plus} label={t`Add a trigger`} onClick={() => void add().catch(toastError)} />}
      </Scroll>
      {doing && "form" in doing && (
        <TriggerForm trigger={doing.form === "new" ? undefined : doing.form} versionId={active?.id ?? versionId} onClose={close} onDone={done} />
      )}
      {doing && "hookOf" in doing && (
        <HookForm
          trigger={doing.hookOf}
          hook={doing.hook}
          onClose={close}
          onDone={(saved) => {
            void reload();
            if (doing.hook) toast(t`The hook was saved`);
            setDoing(doing.hook ? undefined : { hookAddress: saved.url });
          }}
        />
      )}
      {doing && "hookAddress" in doing && <HookAddress url={doing.hookAddress} onClose={close} />}
      {doing && "address" in doing && (
        <Dialog title={t`The address of ${doing.address.name}`} onClose={close}>
          <Address triggerId={doing.address.id} />
          <DialogButtons>
            <Button look="primary" label={t`Done`} onClick={close} />
          </DialogButtons>
        </Dialog>
      )}
    </div>
  );
}

function Row({ trigger, isIdle, onDo }: { trigger: Trigger; isIdle: boolean; onDo: (doing: Doing) => void }) {
  const { t, i18n } = useLingui();
  const { client, id: tenantId, may } = useTenant();
  const hasPage = use(HasPage);
  const navigate = useNavigate();
  const reload = useReload("/triggers");
  const senderOf = useSender();
  const { id, name, isActive } = trigger;
  const { webhookConfig, scheduleConfig, filter } = trigger.config as Config;
  const start = startOf(trigger);
  const hook = useHook(id, start !== "schedule").data; // null where there is none
  const Icon = icons[hook ? "hook" : start];
  const toggle = () =>
    attempt(
      client.PATCH("/triggers/{id}", { params: { path: { id } }, body: { isActive: !isActive } }).then(reload),
      isActive ? t`The trigger is off` : t`The trigger is on`,
    );
  const what = hook ? senderOf(hook.scheme as Scheme) : (webhookConfig?.event ?? scheduleConfig?.cron);
  const isCalled = start !== "schedule" && hook === null;
  const pageOfIt = `/t/${tenantId}/triggers/${id}`;
  const address = addressOf(id, location.origin, base);
  return (
    <li aria-label={name} className="flex flex-col gap-1 rounded-md border border-line p-3">
      <div className="flex items-center gap-2">
        <Icon aria-hidden className="size-4 shrink-0 text-accent" />
        <h3 className="min-w-0 flex-1 truncate font-medium" title={name}>
          {name}
        </h3>
        {isActive ? hook && !hook.isActive && <OnOff of={hook} /> : <OnOff of={trigger} />}
        {(may("triggers:write") || hasPage(pageOfIt)) && (
          <Menu label={t`Actions for ${name}`}>
            {may("triggers:write") && (
              <>
                <MenuItem icon={Pencil} label={t`Edit`} onSelect={() => onDo({ form: trigger })} />
                {isCalled && start === "call" && <MenuItem icon={Webhook} label={t`Create a hook`} onSelect={() => onDo({ hookOf: trigger })} />}
                {hook && <MenuItem icon={Webhook} label={t`Edit the hook`} onSelect={() => onDo({ hookOf: trigger, hook })} />}
                <MenuItem icon={Power} label={isActive ? t`Switch off` : t`Switch on`} onSelect={toggle} />
              </>
            )}
            {hasPage(pageOfIt) && <MenuItem icon={ExternalLink} label={t`Open its page`} onSelect={() => void navigate({ to: pageOfIt })} />}
          </Menu>
        )}
      </div>
      <p className="text-xs text-quiet">
        {hook ? t`A hook` : i18n._(startWords[start])} {what && <code className="break-all text-text">{what}</code>}
      </p>
      {filter && (
        <p className="truncate text-xs text-quiet" title={filter}>
          {t`Only where`} <code>{filter}</code>
        </p>
      )}
      {start === "schedule" && <NextTime triggerId={id} />}
      {isCalled && (
        <div className="flex items-center gap-1">
          <code className="min-w-0 flex-1 truncate text-xs text-quiet" title={address}>
            {address}
          </code>
          <CopyButton text={address} label={t`Copy the address of ${name}`} />
        </div>
      )}
      {isIdle && <p className="text-xs text-warn">{t`It starts nothing: its version is not the active one.`}</p>}
    </li>
  );
}

/** When a schedule fires next. */
function NextTime({ triggerId }: { triggerId: string }) {
  const { t, i18n } = useLingui();
  const { api } = useTenant();
  const { data } = api.useQuery(
    "get",
    "/triggers/{id}/preview",
    { params: { path: { id: triggerId }, query: { count: 1 } } },
    { refetchInterval: 30_000 },
  );
  const [next] = data?.items ?? [];
  if (!next) return data?.reason ? <p className="text-xs text-warn">{data.reason}</p> : null;
  return <p className="text-xs text-quiet">{t`Next: ${localTime(next.localTime, i18n.locale)}`}</p>;
}
