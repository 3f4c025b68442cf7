import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Eraser, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { useReload } from "@/parts";
import {
  Button,
  buttonLook,
  Confirm,
  ErrorPanel,
  Fact,
  Facts,
  Identifier,
  Link,
  MetadataFacts,
  Page,
  Section,
  Table,
  Time,
  toast,
  UnreadPage,
} from "@/ui";
import { EditSubTenant } from "./EditSubTenant";
import { EmbedTokens } from "./EmbedTokens";

export default function SubTenantPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, client, id: tenantId, can } = useTenant();
  const { id } = useParams({ strict: false }) as { id: string };
  const [doing, setDoing] = useState<"edit" | "remove" | null>(null);
  const path = { params: { path: { id } } };
  const { data: subTenant, error, refetch } = api.useQuery("get", "/sub-tenants/{id}", path);
  const subTenantId = subTenant?.subTenantId ?? "";
  const of = { params: { query: { subTenantId, limit: 10 } } };
  const workflows = api.useQuery("get", "/workflows", of, { enabled: subTenantId !== "" });
  const reload = useReload("/sub-tenants");

  if (!subTenant) return <UnreadPage title={t`Sub-tenant`} query={{ error, refetch }} />;
  return (
    <Page
      title={subTenant.name}
      parents={[{ label: t`Sub-tenants`, to: `/t/${tenantId}/sub-tenants` }]}
      description={subTenant.description}
      actions={
        <>
          {can("editor") && <Button icon={Pencil} label={t`Edit`} onClick={() => setDoing("edit")} />}
          {can("admin") && (
            <Link to={`/t/${tenantId}/jobs?subTenantId=${encodeURIComponent(subTenantId)}`} className={buttonLook("plain")}>
              <Eraser aria-hidden className="size-4 shrink-0" />
              <Trans>Erase its data</Trans>
            </Link>
          )}
          {can("admin") && <Button icon={Trash2} label={t`Delete`} onClick={() => setDoing("remove")} />}
        </>
      }
    >
      <Facts>
        <Fact label={t`Identifier`} value={<Identifier id={subTenantId} />} />
        <Fact label={t`Registered`} value={<Time at={subTenant.createdAt} />} />
        <Fact label={t`Changed`} value={<Time at={subTenant.updatedAt} />} />
        <MetadataFacts of={subTenant.metadata} />
      </Facts>
      <Section title={t`Workflows`}>
        {workflows.error && <ErrorPanel error={workflows.error} onRetry={() => void workflows.refetch()} />}
        {workflows.data?.total === 0 ? (
          <p className="text-quiet">{t`No workflow belongs to it.`}</p>
        ) : (
          <Table
            label={t`Workflows`}
            rowKey={(workflow) => workflow.id}
            items={workflows.data?.items}
            columns={[
              { head: t`Name`, cell: (workflow) => <Link to={`/t/${tenantId}/workflows/${workflow.id}`}>{workflow.name}</Link> },
              { head: t`Changed`, cell: (workflow) => <Time at={workflow.updatedAt} />, width: "short" },
            ]}
          />
        )}
      </Section>
      {can("admin") && <EmbedTokens subTenantId={subTenantId} />}
      {doing === "edit" && (
        <EditSubTenant
          subTenant={subTenant}
          onClose={() => setDoing(null)}
          onDone={() => {
            setDoing(null);
            toast(t`Saved`);
            void reload();
          }}
        />
      )}
      {doing === "remove" && (
        <Confirm
          onClose={() => setDoing(null)}
          title={<Trans>Delete the registration of {subTenant.name}?</Trans>}
          action={t`Delete the registration`}
          onConfirm={async () => {
            await client.DELETE("/sub-tenants/{id}", path);
            await navigate({ to: `/t/${tenantId}/sub-tenants` });
            await reload();
          }}
        >
          <p>{t`Its name, description and metadata go.`}</p>
          <p>
            <Trans>{workflows.data?.total ?? 0} workflows stay and keep belonging to it, and so do its runs, keys and embed tokens.</Trans>
          </p>
        </Confirm>
      )}
    </Page>
  );
}
