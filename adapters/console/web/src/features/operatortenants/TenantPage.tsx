import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { CirclePause, CirclePlay, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { operatorApi, operatorClient } from "@/api";
import { LimitFacts, useReload } from "@/parts";
import {
  attempt,
  Button,
  bytes,
  Confirm,
  Fact,
  Facts,
  Identifier,
  Link,
  MetadataFacts,
  number,
  Page,
  StateBadge,
  Time,
  toast,
  UnreadPage,
} from "@/ui";
import { EditTenant } from "./EditTenant";
import { tenantStates } from "./states";

export default function TenantPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { id } = useParams({ strict: false }) as { id: string };
  const [doing, setDoing] = useState<"edit" | "suspend" | "remove" | null>(null);
  const path = { params: { path: { id } } };
  const { data: tenant, error, refetch } = operatorApi.useQuery("get", "/tenants/{id}", path);
  const reload = useReload("/tenants");
  if (!tenant) return <UnreadPage title={t`Tenant`} query={{ error, refetch }} />;
  const { name, budgets } = tenant;
  const isActive = tenant.status === "active";
  const resume = () => attempt(operatorClient.POST("/tenants/{id}/resume", path).then(reload), t`${name} is active again`);
  const close = () => setDoing(null);
  return (
    <Page
      title={name}
      parents={[{ label: t`Tenants`, to: "/operator" }]}
      actions={
        <>
          <Button icon={Pencil} label={t`Edit`} onClick={() => setDoing("edit")} />
          {isActive ? (
            <Button icon={CirclePause} label={t`Suspend`} onClick={() => setDoing("suspend")} />
          ) : (
            <Button icon={CirclePlay} label={t`Resume`} onClick={resume} />
          )}
          <Button icon={Trash2} label={t`Delete`} onClick={() => setDoing("remove")} />
        </>
      }
    >
      <Facts>
        <Fact label={t`State`} value={<StateBadge of={tenantStates[tenant.status]} />} />
        <Fact label={t`Identifier`} value={<Identifier id={tenant.id} />} />
        <Fact label={t`Created`} value={<Time at={tenant.createdAt} />} />
        <LimitFacts of={tenant.limits} />
        <Fact label={t`Runs a month, at most`} value={budgets.runsPerMonth && number(budgets.runsPerMonth)} />
        <Fact label={t`Live runs, at most`} value={budgets.liveRuns && number(budgets.liveRuns)} />
        <Fact label={t`Bytes of runs, at most`} value={budgets.bytesKept && bytes(budgets.bytesKept)} />
        <MetadataFacts of={tenant.metadata} />
      </Facts>
      <Link to={`/operator/runs?tenantId=${tenant.id}`}>{t`Runs of this tenant`}</Link>
      {doing === "edit" && (
        <EditTenant
          tenant={tenant}
          onClose={close}
          onDone={() => {
            close();
            toast(t`Saved`);
            void reload();
          }}
        />
      )}
      {doing === "suspend" && (
        <Confirm
          onClose={close}
          title={<Trans>Suspend {name}?</Trans>}
          action={t`Suspend the tenant`}
          onConfirm={async () => {
            await operatorClient.POST("/tenants/{id}/suspend", path);
            await reload();
          }}
        >
          <p>{t`All its keys are refused, no trigger fires, no run goes on and nothing is sent to its webhook endpoints until you resume it.`}</p>
        </Confirm>
      )}
      {doing === "remove" && (
        <Confirm
          onClose={close}
          title={<Trans>Delete {name}?</Trans>}
          action={t`Delete the tenant`}
          typed={name}
          onConfirm={async () => {
            await operatorClient.DELETE("/tenants/{id}", path);
            await navigate({ to: "/operator" });
            await reload();
          }}
        >
          <p>{t`Everything it owns goes with it, for good: keys, members, workflows, triggers, connections, runs, webhooks and its usage.`}</p>
        </Confirm>
      )}
    </Page>
  );
}
