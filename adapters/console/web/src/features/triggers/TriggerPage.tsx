import { Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Pencil, Play, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { base, useTenant } from "@/api";
import {
  Badge,
  Button,
  Confirm,
  CopyButton,
  ErrorPanel,
  Facts,
  Identifier,
  Link,
  Menu,
  MenuItem,
  MenuLine,
  Page,
  Section,
  Skeleton,
  Time,
  toast,
  toastError,
} from "@/ui";
import { addressOf, type Config, commandFor, startOf } from "./config";
import { HookSection } from "./HookSection";
import { Ledger } from "./Ledger";
import { TestCall } from "./TestCall";
import { TriggerForm } from "./TriggerForm";
import { startWords } from "./words";

export default function TriggerPage() {
  const { t, i18n } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { triggerId } = useParams({ strict: false }) as { triggerId: string };
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [doing, setDoing] = useState<"edit" | "call" | "remove" | null>(null);
  const path = { params: { path: { id: triggerId } } };
  const { data: trigger, error, refetch } = api.useQuery("get", "/triggers/{id}", path);
  const versionId = trigger?.workflowVersionId ?? "";
  const version = api.useQuery("get", "/workflow-versions/{id}", { params: { path: { id: versionId } } }, { enabled: versionId !== "" }).data;
  const workflowId = version?.workflowId ?? "";
  const workflow = api.useQuery("get", "/workflows/{id}", { params: { path: { id: workflowId } } }, { enabled: workflowId !== "" }).data;
  const reload = () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[1]).startsWith("/triggers") });
  const parents = [{ label: <Trans>Triggers</Trans>, to: `/t/${tenantId}/triggers` }];
  const close = () => setDoing(null);

  if (!trigger) {
    return (
      <Page title={t`Trigger`} parents={parents}>
        {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}
      </Page>
    );
  }
  const toggle = async () => {
    try {
      await client.PATCH("/triggers/{id}", { ...path, body: { isActive: !trigger.isActive } });
      await reload();
      toast(trigger.isActive ? t`The trigger is off` : t`The trigger is on`);
    } catch (failure) {
      toastError(failure);
    }
  };
  const config = trigger.config as Config;
  const start = startOf(trigger);
  const address = addressOf(trigger.id, location.origin, base);
  return (
    <Page
      title={trigger.name}
      parents={parents}
      actions={
        can("editor") && (
          <>
            {start !== "schedule" && (
              <Button look="primary" icon={Play} onClick={() => setDoing("call")}>
                <Trans>Test call</Trans>
              </Button>
            )}
            <Menu label={t`Actions for ${trigger.name}`}>
              <MenuItem icon={Pencil} onSelect={() => setDoing("edit")}>
                <Trans>Edit</Trans>
              </MenuItem>
              <MenuItem icon={Power} onSelect={() => void toggle()}>
                {trigger.isActive ? <Trans>Switch off</Trans> : <Trans>Switch on</Trans>}
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
          [
            <Trans key="l">State</Trans>,
            <Badge key="v" tone={trigger.isActive ? "ok" : "quiet"}>
              {trigger.isActive ? <Trans>On</Trans> : <Trans>Off</Trans>}
            </Badge>,
          ],
          [<Trans key="l">What starts it</Trans>, i18n._(startWords[start])],
          [<Trans key="l">Event</Trans>, config.webhookConfig?.event && <code key="v">{config.webhookConfig.event}</code>],
          [<Trans key="l">Cron</Trans>, config.scheduleConfig?.cron && <code key="v">{config.scheduleConfig.cron}</code>],
          [<Trans key="l">Filter</Trans>, config.filter && <code key="v">{config.filter}</code>],
          [
            <Trans key="l">Workflow</Trans>,
            workflow && version && (
              <span key="v">
                <Link to={`/t/${tenantId}/workflows/${workflow.id}`}>{workflow.name}</Link> {version.version}
              </span>
            ),
          ],
          [
            <Trans key="l">Version</Trans>,
            version && !version.isActive && (
              <Badge key="v" tone="warn">
                <Trans>not the active one: it starts nothing</Trans>
              </Badge>
            ),
          ],
          [<Trans key="l">Identifier</Trans>, <Identifier key="v" id={trigger.id} />],
          [<Trans key="l">Sub-tenant</Trans>, trigger.subTenantId],
          [<Trans key="l">Changed</Trans>, <Time key="v" at={trigger.updatedAt} />],
        ]}
      />
      {start === "schedule" ? (
        <Ledger triggerId={trigger.id} />
      ) : (
        <>
          <Section title={<Trans>Address</Trans>}>
            <p className="text-quiet">
              <Trans>Your servers call it with a secret key.</Trans>
            </p>
            <div className="flex items-start gap-1 rounded-md border border-line bg-panel p-2">
              <code className="min-w-0 flex-1 py-1 break-all">{address}</code>
              <CopyButton text={address} label={t`Copy the address`} />
            </div>
            <div className="flex items-start gap-1 rounded-md border border-line bg-panel p-2">
              <pre className="min-w-0 flex-1 py-1 font-mono break-all whitespace-pre-wrap">{commandFor(address)}</pre>
              <CopyButton text={commandFor(address)} label={t`Copy the command`} />
            </div>
          </Section>
          <HookSection trigger={trigger} />
        </>
      )}
      {doing === "call" && <TestCall trigger={trigger} onClose={close} />}
      {doing === "edit" && (
        <TriggerForm
          trigger={trigger}
          onClose={close}
          onDone={() => {
            close();
            void reload();
            toast(t`The trigger was saved`);
          }}
        />
      )}
      <Confirm
        isOpen={doing === "remove"}
        onClose={close}
        title={<Trans>Delete {trigger.name}?</Trans>}
        action={<Trans>Delete the trigger</Trans>}
        onConfirm={async () => {
          await client.DELETE("/triggers/{id}", path);
          await navigate({ to: `/t/${tenantId}/triggers` });
          await queries.invalidateQueries({ queryKey: ["get", "/triggers"] });
        }}
      >
        <p>
          <Trans>These go with it, for good:</Trans>
        </p>
        <ul className="list-disc pl-5">
          {start === "schedule" ? (
            <li>
              <Trans>the record of the times at which it was due</Trans>
            </li>
          ) : (
            <>
              <li>
                <Trans>its address: calls are refused</Trans>
              </li>
              <li>
                <Trans>its hook, where it has one, with all that it has received</Trans>
              </li>
            </>
          )}
        </ul>
        <p>
          <Trans>Runs that it started go on, and can still be read.</Trans>
        </p>
      </Confirm>
    </Page>
  );
}
