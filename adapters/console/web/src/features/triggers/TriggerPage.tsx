import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Pencil, Play, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { useReload } from "@/parts";
import { Address, type Config, startOf, startWords, TriggerForm } from "@/parts/triggers";
import {
  attempt,
  Badge,
  Button,
  Confirm,
  Fact,
  Facts,
  Identifier,
  Link,
  Menu,
  MenuItem,
  MenuLine,
  OnOff,
  Page,
  Section,
  Time,
  toast,
  UnreadPage,
} from "@/ui";
import { HookSection } from "./HookSection";
import { Ledger } from "./Ledger";
import { TestCall } from "./TestCall";

export default function TriggerPage() {
  const { t, i18n } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { triggerId } = useParams({ strict: false }) as { triggerId: string };
  const navigate = useNavigate();
  const [doing, setDoing] = useState<"edit" | "call" | "remove" | null>(null);
  const path = { params: { path: { id: triggerId } } };
  const { data: trigger, error, refetch } = api.useQuery("get", "/triggers/{id}", path);
  const versionId = trigger?.workflowVersionId ?? "";
  const version = api.useQuery("get", "/workflow-versions/{id}", { params: { path: { id: versionId } } }, { enabled: versionId !== "" }).data;
  const workflowId = version?.workflowId ?? "";
  const workflow = api.useQuery("get", "/workflows/{id}", { params: { path: { id: workflowId } } }, { enabled: workflowId !== "" }).data;
  const reload = useReload("/triggers");
  const parents = [{ label: t`Triggers`, to: `/t/${tenantId}/triggers` }];
  const close = () => setDoing(null);

  if (!trigger) return <UnreadPage title={t`Trigger`} parents={parents} query={{ error, refetch }} />;
  const toggle = () =>
    attempt(
      client.PATCH("/triggers/{id}", { ...path, body: { isActive: !trigger.isActive } }).then(reload),
      trigger.isActive ? t`The trigger is off` : t`The trigger is on`,
    );
  const config = trigger.config as Config;
  const start = startOf(trigger);
  return (
    <Page
      title={trigger.name}
      parents={parents}
      actions={
        can("editor") && (
          <>
            {start !== "schedule" && <Button look="primary" icon={Play} label={t`Test call`} onClick={() => setDoing("call")} />}
            <Menu label={t`Actions for ${trigger.name}`}>
              <MenuItem icon={Pencil} label={t`Edit`} onSelect={() => setDoing("edit")} />
              <MenuItem icon={Power} label={trigger.isActive ? t`Switch off` : t`Switch on`} onSelect={toggle} />
              <MenuLine />
              <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => setDoing("remove")} />
            </Menu>
          </>
        )
      }
    >
      <Facts>
        <Fact label={t`State`} value={<OnOff of={trigger} />} />
        <Fact label={t`What starts it`} value={i18n._(startWords[start])} />
        <Fact label={t`Event`} value={config.webhookConfig?.event && <code>{config.webhookConfig.event}</code>} />
        <Fact label={t`Cron`} value={config.scheduleConfig?.cron && <code>{config.scheduleConfig.cron}</code>} />
        <Fact label={t`Filter`} value={config.filter && <code>{config.filter}</code>} />
        <Fact
          label={t`Workflow`}
          value={
            workflow &&
            version && (
              <span>
                <Link to={`/t/${tenantId}/workflows/${workflow.id}`}>{workflow.name}</Link>, {t`version ${version.version}`}
              </span>
            )
          }
        />
        <Fact label={t`Version`} value={version && !version.isActive && <Badge tone="warn">{t`not the active one: it starts nothing`}</Badge>} />
        <Fact label={t`Identifier`} value={<Identifier id={trigger.id} />} />
        <Fact label={t`Sub-tenant`} value={trigger.subTenantId} />
        <Fact label={t`Changed`} value={<Time at={trigger.updatedAt} />} />
      </Facts>
      {start === "schedule" ? (
        <Ledger triggerId={trigger.id} />
      ) : (
        <>
          <Section title={t`Address`}>
            <Address triggerId={trigger.id} />
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
      {doing === "remove" && (
        <Confirm
          onClose={close}
          title={<Trans>Delete {trigger.name}?</Trans>}
          action={t`Delete the trigger`}
          onConfirm={async () => {
            await client.DELETE("/triggers/{id}", path);
            await navigate({ to: `/t/${tenantId}/triggers` });
            await reload();
          }}
        >
          <p>{t`These go with it, for good:`}</p>
          <ul className="list-disc pl-5">
            {start === "schedule" ? (
              <li>{t`the record of the times at which it was due`}</li>
            ) : (
              <>
                <li>{t`its address: calls are refused`}</li>
                <li>{t`its hook, where it has one, with all that it has received`}</li>
              </>
            )}
          </ul>
          <p>{t`Runs that it started go on, and can still be read.`}</p>
        </Confirm>
      )}
    </Page>
  );
}
