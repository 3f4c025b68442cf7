import { Plural, Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { CirclePause, CirclePlay, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { operatorApi, operatorClient, type Schemas } from "@/api";
import { Badge, Button, bytes, Confirm, ErrorPanel, Facts, Identifier, Link, Page, Skeleton, Time, toast, toastError } from "@/ui";
import { EditTenant } from "./EditTenant";

export default function TenantPage() {
  const { t, i18n } = useLingui();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { id } = useParams({ strict: false }) as { id: string };
  const [doing, setDoing] = useState<"edit" | "suspend" | "remove" | null>(null);
  const path = { params: { path: { id } } };
  const { data: tenant, error, refetch } = operatorApi.useQuery("get", "/tenants/{id}", path);
  const reload = () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[1]).startsWith("/tenants") });
  if (!tenant) return <Page title={t`Tenant`}>{error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}</Page>;
  const { name, limits, budgets } = tenant;
  const isActive = tenant.status === "active";
  const resume = () =>
    void operatorClient.POST("/tenants/{id}/resume", path).then(async () => {
      toast(t`${name} is active again`);
      await reload();
    }, toastError);
  const close = () => setDoing(null);
  return (
    <Page
      title={name}
      parents={[{ label: <Trans>Tenants</Trans>, to: "/operator" }]}
      actions={
        <>
          <Button icon={Pencil} onClick={() => setDoing("edit")}>
            <Trans>Edit</Trans>
          </Button>
          {isActive ? (
            <Button icon={CirclePause} onClick={() => setDoing("suspend")}>
              <Trans>Suspend</Trans>
            </Button>
          ) : (
            <Button icon={CirclePlay} onClick={resume}>
              <Trans>Resume</Trans>
            </Button>
          )}
          <Button icon={Trash2} onClick={() => setDoing("remove")}>
            <Trans>Delete</Trans>
          </Button>
        </>
      }
    >
      <Facts
        facts={[
          [
            <Trans key="state">State</Trans>,
            <Badge key="v" tone={isActive ? "ok" : "warn"}>
              {isActive ? <Trans>Active</Trans> : <Trans>Suspended</Trans>}
            </Badge>,
          ],
          [<Trans key="id">Identifier</Trans>, <Identifier key="v" id={tenant.id} />],
          [<Trans key="made">Created</Trans>, <Time key="v" at={tenant.createdAt} />],
          [<Trans key="s">Secret keys, together</Trans>, <Quota key="v" {...limits.secret} />],
          [<Trans key="p">Public keys, together</Trans>, <Quota key="v" {...limits.public} />],
          [<Trans key="r">Finished runs are kept</Trans>, <Plural key="v" value={limits.runRetentionDays} one="# day" other="# days" />],
          ...(
            [
              [t`Runs a month, at most`, budgets.runsPerMonth?.toLocaleString(i18n.locale)],
              [t`Live runs, at most`, budgets.liveRuns?.toLocaleString(i18n.locale)],
              [t`Bytes of runs, at most`, budgets.bytesKept && bytes(budgets.bytesKept)],
            ] as const
          ).flatMap(([label, text]): [React.ReactNode, React.ReactNode][] => (text ? [[label, text]] : [])),
          ...Object.entries(tenant.metadata).map(([key, value]): [React.ReactNode, React.ReactNode] => [<code key={key}>{key}</code>, value]),
        ]}
      />
      <Link to={`/operator/runs?tenantId=${tenant.id}`}>
        <Trans>Runs of this tenant</Trans>
      </Link>
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
      <Confirm
        isOpen={doing === "suspend"}
        onClose={close}
        title={<Trans>Suspend {name}?</Trans>}
        action={<Trans>Suspend the tenant</Trans>}
        onConfirm={async () => {
          await operatorClient.POST("/tenants/{id}/suspend", path);
          await reload();
        }}
      >
        <p>
          <Trans>All its keys are refused, no trigger fires, no run goes on and nothing is sent to its webhook endpoints until you resume it.</Trans>
        </p>
      </Confirm>
      <Confirm
        isOpen={doing === "remove"}
        onClose={close}
        title={<Trans>Delete {name}?</Trans>}
        action={<Trans>Delete the tenant</Trans>}
        typed={name}
        onConfirm={async () => {
          await operatorClient.DELETE("/tenants/{id}", path);
          await navigate({ to: "/operator" });
          await reload();
        }}
      >
        <p>
          <Trans>Everything it owns goes with it, for good: keys, members, workflows, triggers, connections, runs, webhooks and its usage.</Trans>
        </p>
      </Confirm>
    </Page>
  );
}

const Quota = ({ requestsPerMinute, concurrentRequests }: Schemas["Quota"]) => (
  <Trans>
    {requestsPerMinute} requests a minute, {concurrentRequests} at the same time
  </Trans>
);
