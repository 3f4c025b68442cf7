import { Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { Button, Confirm, ErrorPanel, Facts, Identifier, Link, Page, Section, Skeleton, Table, Time, toast } from "@/ui";
import { EditSubTenant } from "./EditSubTenant";
import { EmbedTokens } from "./EmbedTokens";

export default function SubTenantPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { api, client, id: tenantId, can } = useTenant();
  const { id } = useParams({ strict: false }) as { id: string };
  const [doing, setDoing] = useState<"edit" | "remove" | null>(null);
  const path = { params: { path: { id } } };
  const { data: subTenant, error, refetch } = api.useQuery("get", "/sub-tenants/{id}", path);
  const subTenantId = subTenant?.subTenantId ?? "";
  const of = { params: { query: { subTenantId, limit: 10 } } };
  const workflows = api.useQuery("get", "/workflows", of, { enabled: subTenantId !== "" });
  const reload = () =>
    queries.invalidateQueries({ predicate: ({ queryKey }) => typeof queryKey[1] === "string" && queryKey[1].startsWith("/sub-tenants") });

  if (!subTenant) return <Page title={t`Sub-tenant`}>{error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}</Page>;
  return (
    <Page
      title={subTenant.name}
      parents={[{ label: <Trans>Sub-tenants</Trans>, to: `/t/${tenantId}/sub-tenants` }]}
      description={subTenant.description}
      actions={
        <>
          {can("editor") && (
            <Button icon={Pencil} onClick={() => setDoing("edit")}>
              <Trans>Edit</Trans>
            </Button>
          )}
          {can("admin") && (
            <Button icon={Trash2} onClick={() => setDoing("remove")}>
              <Trans>Delete</Trans>
            </Button>
          )}
        </>
      }
    >
      <Facts
        facts={[
          [<Trans key="id">Identifier</Trans>, <Identifier key="v" id={subTenantId} />],
          [<Trans key="made">Registered</Trans>, <Time key="v" at={subTenant.createdAt} />],
          [<Trans key="changed">Changed</Trans>, <Time key="v" at={subTenant.updatedAt} />],
          ...Object.entries(subTenant.metadata).map(([key, value]): [React.ReactNode, React.ReactNode] => [<code key={key}>{key}</code>, value]),
        ]}
      />
      <Section title={<Trans>Workflows</Trans>}>
        {workflows.error && <ErrorPanel error={workflows.error} onRetry={() => void workflows.refetch()} />}
        {workflows.data?.total === 0 ? (
          <p className="text-quiet">
            <Trans>No workflow belongs to it.</Trans>
          </p>
        ) : (
          <Table
            label={t`Workflows`}
            rowKey={(workflow) => workflow.id}
            items={workflows.data?.items}
            columns={[
              { head: <Trans>Name</Trans>, cell: (workflow) => <Link to={`/t/${tenantId}/workflows/${workflow.id}`}>{workflow.name}</Link> },
              { head: <Trans>Changed</Trans>, cell: (workflow) => <Time at={workflow.updatedAt} /> },
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
      <Confirm
        isOpen={doing === "remove"}
        onClose={() => setDoing(null)}
        title={<Trans>Delete the registration of {subTenant.name}?</Trans>}
        action={<Trans>Delete the registration</Trans>}
        onConfirm={async () => {
          await client.DELETE("/sub-tenants/{id}", path);
          await navigate({ to: `/t/${tenantId}/sub-tenants` });
          await reload();
        }}
      >
        <p>
          <Trans>Its name, description and metadata go.</Trans>
        </p>
        <p>
          <Trans>{workflows.data?.total ?? 0} workflows stay and keep belonging to it, and so do its runs, keys and embed tokens.</Trans>
        </p>
      </Confirm>
    </Page>
  );
}
