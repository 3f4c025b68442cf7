import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Copy, Download, Pencil, PenLine, Play, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { runStates } from "@/parts";
import {
  attempt,
  Badge,
  Button,
  buttonColumn,
  Confirm,
  Empty,
  ErrorPanel,
  Fact,
  Facts,
  Identifier,
  Link,
  Menu,
  MenuItem,
  MenuLine,
  MetadataFacts,
  number,
  OnOff,
  Page,
  Section,
  StateBadge,
  Table,
  Time,
  toast,
  toastError,
  UnreadPage,
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
  const [doing, setDoing] = useState<"edit" | "run" | "remove" | Version | null>(null);
  const path = { params: { path: { id: workflowId } } };
  const { data: workflow, error, refetch } = api.useQuery("get", "/workflows/{id}", path);
  const versions = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId, limit: 20 } } });
  const runs = api.useQuery("get", "/runs", { params: { query: { workflowId, limit: 5 } } });
  const triggers = api.useQuery("get", "/triggers", { params: { query: { workflowId, limit: 1 } } });
  const isPublished = versions.data?.items.some((version) => version.isActive) ?? false;
  useShortcut(can("editor") && isPublished ? { keys: "r", label: t`Run the workflow`, run: () => setDoing("run") } : undefined);

  if (!workflow) return <UnreadPage title={t`Workflow`} query={{ error, refetch }} />;

  const editor = `/t/${tenantId}/workflows/${workflowId}/editor`;
  const toggle = () =>
    attempt(
      client.PATCH("/workflows/{id}", { ...path, body: { isActive: !workflow.isActive } }).then(actions.reload),
      workflow.isActive ? t`The workflow is off` : t`The workflow is on`,
    );
  const duplicate = () =>
    attempt(
      actions.duplicate(workflow, t`Copy of ${workflow.name}`).then(({ id }) => navigate({ to: `/t/${tenantId}/workflows/${id}` })),
      t`The workflow was duplicated`,
    );

  return (
    <Page
      title={workflow.name}
      parents={[{ label: t`Workflows`, to: `/t/${tenantId}/workflows` }]}
      description={workflow.description}
      actions={
        <>
          <Button icon={PenLine} label={can("editor") ? t`Open the editor` : t`Show the graph`} onClick={() => void navigate({ to: editor })} />
          {can("editor") && (
            <Button
              look="primary"
              icon={Play}
              label={t({ message: "Run", context: "to run" })}
              disabled={!isPublished}
              title={isPublished ? undefined : t`Publish a version first`}
              onClick={() => setDoing("run")}
            />
          )}
          <Menu label={t`Actions for ${workflow.name}`}>
            {can("editor") && (
              <>
                <MenuItem icon={Pencil} label={t`Edit name and metadata`} onSelect={() => setDoing("edit")} />
                <MenuItem icon={Power} label={workflow.isActive ? t`Switch off` : t`Switch on`} onSelect={toggle} />
                <MenuItem icon={Copy} label={t`Duplicate`} onSelect={duplicate} />
              </>
            )}
            <MenuItem icon={Download} label={t`Export as JSON`} onSelect={() => void actions.exportFile(workflow).catch(toastError)} />
            {can("editor") && (
              <>
                <MenuLine />
                <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => setDoing("remove")} />
              </>
            )}
          </Menu>
        </>
      }
    >
      <Facts>
        <Fact label={t`State`} value={<OnOff of={workflow} off={t`Off: no trigger starts it`} />} />
        <Fact label={t`Identifier`} value={<Identifier id={workflow.id} />} />
        <Fact
          label={t`Triggers`}
          value={triggers.data && <Link to={`/t/${tenantId}/triggers?workflowId=${workflowId}`}>{number(triggers.data.total)}</Link>}
        />
        <Fact label={t`Sub-tenant`} value={workflow.subTenantId} />
        <Fact label={t`Changed`} value={<Time at={workflow.updatedAt} />} />
        <MetadataFacts of={workflow.metadata} />
      </Facts>
      <Section title={t`Versions`}>
        {versions.error && <ErrorPanel error={versions.error} onRetry={() => void versions.refetch()} />}
        {versions.error && !versions.data ? null : versions.data?.total === 0 ? (
          <Empty
            title={t`There is no version yet`}
            action={
              can("editor") && <Button look="primary" icon={PenLine} label={t`Draw the workflow`} onClick={() => void navigate({ to: editor })} />
            }
          >
            {t`Draw it in the editor, create a version with the API, or import a workflow that has one.`}
          </Empty>
        ) : (
          <Table<Version>
            label={t`Versions`}
            rowKey={(version) => version.id}
            items={versions.data?.items}
            columns={[
              { head: t`Version`, cell: (version) => <Link to={`${editor}?version=${version.id}`}>{version.version}</Link>, width: "short" },
              {
                head: t`State`,
                cell: (version) =>
                  version.isActive ? (
                    <Badge tone="ok">{t`Active`}</Badge>
                  ) : version.publishedAt ? (
                    <Badge>{t`Published before`}</Badge>
                  ) : (
                    <Badge tone="info">{t`Draft`}</Badge>
                  ),
              },
              { head: t`Nodes`, cell: (version) => version.nodes.length, isNumber: true },
              { head: t`Created`, cell: (version) => <Time at={version.createdAt} />, width: "short", isMinor: true },
              ...(can("editor")
                ? [
                    buttonColumn(
                      (version: Version) =>
                        !version.publishedAt && (
                          <Button label={t`Publish`} aria-label={t`Publish version ${version.version}`} onClick={() => setDoing(version)} />
                        ),
                    ),
                  ]
                : []),
            ]}
          />
        )}
      </Section>
      <Section title={t`Last runs`} actions={<Link to={`/t/${tenantId}/runs?workflowId=${workflowId}`}>{t`All runs`}</Link>}>
        {runs.error && <ErrorPanel error={runs.error} onRetry={() => void runs.refetch()} />}
        {runs.error && !runs.data ? null : runs.data?.total === 0 ? (
          <Empty title={t`It has not run yet`} />
        ) : (
          <Table
            label={t`Last runs`}
            rowKey={(run) => run.id}
            items={runs.data?.items}
            columns={[
              {
                head: t`Run`,
                cell: (run) => <Link to={`/t/${tenantId}/runs/${run.id}`}>{run.entityId}</Link>,
              },
              { head: t`State`, cell: (run) => <StateBadge of={runStates[run.status]} />, width: "short" },
              { head: t`Started`, cell: (run) => <Time at={run.createdAt} />, width: "short" },
            ]}
          />
        )}
      </Section>
      {doing === "edit" && <EditWorkflow workflow={workflow} onClose={() => setDoing(null)} onDone={actions.reload} />}
      {doing === "run" && <StartRun workflow={workflow} onClose={() => setDoing(null)} />}
      {doing !== null && typeof doing === "object" && (
        <Confirm
          onClose={() => setDoing(null)}
          title={t`Publish version ${doing.version}?`}
          action={t`Publish the version`}
          isDangerous={false}
          onConfirm={async () => {
            await client.POST("/workflow-versions/{id}/publish", { params: { path: { id: doing.id } } });
            await actions.reload();
            toast(t`The version was published`);
          }}
        >
          <p>{t`It is checked first. Then it is the active one: what starts from now on runs it, and it cannot be changed any more.`}</p>
        </Confirm>
      )}
      {doing === "remove" && (
        <Confirm
          onClose={() => setDoing(null)}
          title={<Trans>Delete {workflow.name}?</Trans>}
          action={t`Delete the workflow`}
          typed={workflow.name}
          onConfirm={async () => {
            await client.DELETE("/workflows/{id}", path);
            await navigate({ to: `/t/${tenantId}/workflows` });
            await actions.reload();
          }}
        >
          <p>{t`These go with it, for good:`}</p>
          <ul className="list-disc pl-5">
            <li>{versions.data ? <Trans>{versions.data.total} versions</Trans> : t`its versions`}</li>
            <li>
              {triggers.data ? (
                <Trans>{triggers.data.total} triggers: their addresses answer no more</Trans>
              ) : (
                t`its triggers: their addresses answer no more`
              )}
            </li>
          </ul>
          <p>{t`Runs that have not ended are cancelled. All of its runs can still be read.`}</p>
        </Confirm>
      )}
    </Page>
  );
}
