import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Copy, Download, Pencil, Play, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import {
  Badge,
  Button,
  Confirm,
  Empty,
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
  Table,
  Time,
  toast,
  toastError,
  useShortcut,
} from "@/ui";
import { useWorkflowActions } from "./actions";
import { EditWorkflow } from "./EditWorkflow";
import { StartRun } from "./StartRun";

type Version = Schemas["WorkflowVersion"];

export default function WorkflowPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, client, id: tenantId, can } = useTenant();
  const { workflowId } = useParams({ strict: false }) as { workflowId: string };
  const actions = useWorkflowActions();
  const [doing, setDoing] = useState<"edit" | "run" | "remove" | null>(null);
  const path = { params: { path: { id: workflowId } } };
  const { data: workflow, error, refetch } = api.useQuery("get", "/workflows/{id}", path);
  const versions = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId, limit: 20 } } });
  const runs = api.useQuery("get", "/runs", { params: { query: { workflowId, limit: 5 } } });
  const triggers = api.useQuery("get", "/triggers", { params: { query: { workflowId, limit: 100 } } });
  const isPublished = versions.data?.items.some((version) => version.isActive) ?? false;
  useShortcut(can("editor") && isPublished ? { keys: "r", label: t`Run the workflow`, run: () => setDoing("run") } : undefined);

  if (error && !workflow) return <Page title={t`Workflow`}>{<ErrorPanel error={error} onRetry={() => void refetch()} />}</Page>;
  if (!workflow) return <Page title={t`Workflow`}>{<Skeleton />}</Page>;

  const attempt = (what: Promise<unknown>, done: string) =>
    void what.then(async () => {
      await actions.reload();
      toast(done);
    }, toastError);
  const toggle = () =>
    attempt(
      client.PATCH("/workflows/{id}", { ...path, body: { isActive: !workflow.isActive } }),
      workflow.isActive ? t`The workflow is off` : t`The workflow is on`,
    );
  const duplicate = () =>
    void actions.duplicate(workflow, t`Copy of ${workflow.name}`).then((made) => {
      toast(t`The workflow was duplicated`);
      void navigate({ to: `/t/${tenantId}/workflows/${made.id}` });
    }, toastError);

  return (
    <Page
      title={workflow.name}
      parents={[{ label: <Trans>Workflows</Trans>, to: `/t/${tenantId}/workflows` }]}
      description={workflow.description}
      actions={
        <>
          {can("editor") && (
            <Button
              look="primary"
              icon={Play}
              disabled={!isPublished}
              title={isPublished ? undefined : t`Publish a version first`}
              onClick={() => setDoing("run")}
            >
              <Trans>Run</Trans>
            </Button>
          )}
          <Menu label={t`Actions for ${workflow.name}`}>
            {can("editor") && (
              <>
                <MenuItem icon={Pencil} onSelect={() => setDoing("edit")}>
                  <Trans>Edit name and metadata</Trans>
                </MenuItem>
                <MenuItem icon={Power} onSelect={toggle}>
                  {workflow.isActive ? <Trans>Switch off</Trans> : <Trans>Switch on</Trans>}
                </MenuItem>
                <MenuItem icon={Copy} onSelect={duplicate}>
                  <Trans>Duplicate</Trans>
                </MenuItem>
              </>
            )}
            <MenuItem icon={Download} onSelect={() => void actions.exportFile(workflow).catch(toastError)}>
              <Trans>Export as JSON</Trans>
            </MenuItem>
            {can("editor") && (
              <>
                <MenuLine />
                <MenuItem icon={Trash2} isDangerous onSelect={() => setDoing("remove")}>
                  <Trans>Delete</Trans>
                </MenuItem>
              </>
            )}
          </Menu>
        </>
      }
    >
      <Facts
        facts={[
          [
            <Trans key="state">State</Trans>,
            <Badge key="v" tone={workflow.isActive ? "ok" : "quiet"}>
              {workflow.isActive ? <Trans>On</Trans> : <Trans>Off: no trigger starts it</Trans>}
            </Badge>,
          ],
          [<Trans key="id">Identifier</Trans>, <Identifier key="v" id={workflow.id} />],
          [<Trans key="sub">Sub-tenant</Trans>, workflow.subTenantId],
          [<Trans key="changed">Changed</Trans>, <Time key="v" at={workflow.updatedAt} />],
          ...Object.entries(workflow.metadata).map(([key, value]): [React.ReactNode, React.ReactNode] => [<code key={key}>{key}</code>, value]),
        ]}
      />
      <Section title={<Trans>Versions</Trans>}>
        {versions.error && <ErrorPanel error={versions.error} onRetry={() => void versions.refetch()} />}
        {versions.data?.total === 0 ? (
          <Empty title={<Trans>There is no version yet</Trans>}>
            <Trans>Create a version with the API, or import a workflow that has one.</Trans>
          </Empty>
        ) : (
          <Table<Version>
            label={t`Versions`}
            rowKey={(version) => version.id}
            items={versions.data?.items}
            columns={[
              { head: <Trans>Version</Trans>, cell: (version) => version.version },
              {
                head: <Trans>State</Trans>,
                cell: (version) =>
                  version.isActive ? (
                    <Badge tone="ok">
                      <Trans>Active</Trans>
                    </Badge>
                  ) : version.publishedAt ? (
                    <Badge>
                      <Trans>Published before</Trans>
                    </Badge>
                  ) : (
                    <Badge tone="info">
                      <Trans>Draft</Trans>
                    </Badge>
                  ),
              },
              { head: <Trans>Nodes</Trans>, cell: (version) => version.nodes.length, isNumber: true },
              { head: <Trans>Created</Trans>, cell: (version) => <Time at={version.createdAt} /> },
            ]}
          />
        )}
      </Section>
      <Section
        title={<Trans>Last runs</Trans>}
        actions={
          <Link to={`/t/${tenantId}/runs?workflowId=${workflowId}`}>
            <Trans>All runs</Trans>
          </Link>
        }
      >
        {runs.data?.total === 0 ? (
          <Empty title={<Trans>It has not run yet</Trans>} />
        ) : (
          <Table
            label={t`Last runs`}
            rowKey={(run) => run.id}
            items={runs.data?.items}
            columns={[
              {
                head: <Trans>Run</Trans>,
                cell: (run) => <Link to={`/t/${tenantId}/runs/${run.id}`}>{run.entityId}</Link>,
              },
              { head: <Trans>State</Trans>, cell: (run) => <code>{run.status}</code> },
              { head: <Trans>Started</Trans>, cell: (run) => <Time at={run.createdAt} /> },
            ]}
          />
        )}
      </Section>
      {doing === "edit" && <EditWorkflow workflow={workflow} onClose={() => setDoing(null)} onDone={actions.reload} />}
      {doing === "run" && <StartRun workflow={workflow} onClose={() => setDoing(null)} />}
      <Confirm
        isOpen={doing === "remove"}
        onClose={() => setDoing(null)}
        title={<Trans>Delete {workflow.name}?</Trans>}
        action={<Trans>Delete the workflow</Trans>}
        typed={workflow.name}
        onConfirm={async () => {
          await client.DELETE("/workflows/{id}", path);
          await navigate({ to: `/t/${tenantId}/workflows` });
          await actions.reload();
        }}
      >
        <p>
          <Trans>These go with it, for good:</Trans>
        </p>
        <ul className="list-disc pl-5">
          <li>
            <Trans>{versions.data?.total ?? 0} versions</Trans>
          </li>
          <li>
            <Trans>{triggers.data?.total ?? 0} triggers: their addresses answer no more</Trans>
          </li>
        </ul>
        <p>
          <Trans>Runs that have not ended are cancelled. All of its runs can still be read.</Trans>
        </p>
      </Confirm>
    </Page>
  );
}
