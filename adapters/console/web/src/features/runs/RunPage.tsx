import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Ban, FlaskConical, Repeat, RotateCcw } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { AnswerForm, causes, entityOf, runStates, useReload } from "@/parts";
import {
  attempt,
  Button,
  buttonLook,
  Confirm,
  Fact,
  Facts,
  Identifier,
  Link,
  Page,
  Section,
  Skeleton,
  StateBadge,
  spanOf,
  Time,
  UnreadPage,
} from "@/ui";
import { Children } from "./Children";
import { useHistory } from "./history";
import { NodePanel } from "./NodePanel";

const Canvas = lazy(() => import("./Canvas"));
const Timeline = lazy(() => import("./Timeline"));

/** The engine of a run by the name that people know it by; nothing for the one that everybody has. */
const engineOf = ({ engine }: Schemas["Run"]) => (engine === "temporal" ? "Temporal" : engine !== "table" && engine);

export default function RunPage() {
  const { t, i18n } = useLingui();
  const navigate = useNavigate();
  const reload = useReload("/runs", "/pauses");
  const { api, client, id: tenantId, can } = useTenant();
  const { runId } = useParams({ strict: false }) as { runId: string };
  const path = { params: { path: { id: runId } } };
  const { data: run, error, refetch } = api.useQuery("get", "/runs/{id}", path);
  const versionId = run?.workflowVersionId ?? "";
  const version = api.useQuery(
    "get",
    "/workflow-versions/{id}",
    { params: { path: { id: versionId } } },
    { enabled: Boolean(run), staleTime: 300_000 },
  );
  const workflow = api.useQuery("get", "/workflows/{id}", { params: { path: { id: run?.workflowId ?? "" } } }, { enabled: Boolean(run) });
  const entries = useHistory(runId, run?.retries ?? 0);
  const [selected, setSelected] = useState<string | null>(null);
  const [isCancelling, setCancelling] = useState(false);
  const [isBusy, setBusy] = useState(false);

  if (!run) return <UnreadPage title={t`Run`} query={{ error, refetch }} />;

  /** One thing at a time: another click starts no second run. */
  const act = (change: Promise<unknown>, done: string) => {
    setBusy(true);
    void attempt(change, done).finally(() => setBusy(false));
  };
  const retry = () => act(client.POST("/runs/{id}/retry", path).then(reload), t`The run is retried where it failed`);
  const rerun = (from?: string) =>
    act(
      client
        .POST("/runs/{id}/rerun", { ...path, body: from ? { from } : {} })
        .then(({ data }) => data && navigate({ to: `/t/${tenantId}/runs/${data.id}` })),
      t`The run is repeated as another one`,
    );
  const isOver = ["completed", "failed", "cancelled"].includes(run.status);
  const node = run.nodes.find(({ nodeId }) => nodeId === (selected ?? run.error?.nodeId)) ?? run.nodes.find(({ waiting }) => waiting) ?? run.nodes[0];
  const nameOf = (nodeId: string) => version.data?.nodes.find(({ id }) => id === nodeId)?.name || nodeId;
  const begin = new Date(run.createdAt).getTime();
  const last = entries.at(-1);
  const end = Math.max(isOver && run.finishedAt ? new Date(run.finishedAt).getTime() : Date.now(), last ? new Date(last.at).getTime() : begin);

  return (
    <Page
      title={entityOf(run) ?? workflow.data?.name ?? t`Run`}
      parents={[{ label: t`Runs`, to: `/t/${tenantId}/runs` }]}
      actions={
        <>
          {run.index === undefined && (
            <Link to={`/t/${tenantId}/workflows/${run.workflowId}/editor?run=${run.id}`} className={buttonLook("plain")}>
              <FlaskConical aria-hidden className="size-4" /> {t`Try its event in the editor`}
            </Link>
          )}
          {can("approver") && (
            <>
              {run.status === "failed" && <Button look="primary" icon={RotateCcw} label={t`Retry where it failed`} isBusy={isBusy} onClick={retry} />}
              {isOver && run.index === undefined && <Button icon={Repeat} label={t`Run again`} isBusy={isBusy} onClick={() => rerun()} />}
              {!isOver && <Button icon={Ban} label={t`Cancel the run`} onClick={() => setCancelling(true)} />}
            </>
          )}
        </>
      }
    >
      <Facts>
        <Fact label={t`State`} value={<StateBadge of={runStates[run.status]} />} />
        <Fact label={t`Workflow`} value={<Link to={`/t/${tenantId}/workflows/${run.workflowId}`}>{workflow.data?.name ?? run.workflowId}</Link>} />
        <Fact label={t`Version`} value={version.data?.version ?? (version.isPending ? "…" : undefined)} />
        <Fact label={t`Started by`} value={i18n._(causes[run.cause])} />
        <Fact label={t`Created`} value={<Time at={run.createdAt} />} />
        <Fact label={t`Waited for a worker`} value={spanOf(run.createdAt, run.startedAt) ?? (isOver ? undefined : "…")} />
        <Fact label={t`Took`} value={spanOf(run.startedAt, run.finishedAt) ?? (isOver ? undefined : "…")} />
        <Fact label={t`Engine`} value={engineOf(run)} />
        <Fact label={t`Identifier`} value={<Identifier id={run.id} />} />
        <Fact
          label={t`Started by the run`}
          value={run.parentRunId && <Link to={`/t/${tenantId}/runs/${run.parentRunId}`}>{run.parentNodeId ?? run.parentRunId}</Link>}
        />
        <Fact label={t`Repeats the run`} value={run.rerunOf && <Link to={`/t/${tenantId}/runs/${run.rerunOf}`}>{run.rerunOf}</Link>} />
      </Facts>
      {run.error && (
        <div role="status" className="rounded-lg border border-danger bg-panel p-3">
          <p className="font-medium break-words">{run.error.message}</p>
          <p className="text-quiet">
            <code>{run.error.code}</code>
            {run.error.nodeId && (
              <>
                {" · "}
                <Trans>at the node {nameOf(run.error.nodeId)}</Trans>
              </>
            )}
          </p>
        </div>
      )}
      {can("approver") &&
        run.nodes.map(({ nodeId, waiting }) => {
          const { pauseId, question, until } = waiting ?? {};
          return (
            pauseId &&
            question && (
              <div key={pauseId} className="flex flex-col gap-3 rounded-lg border border-warn bg-panel p-4">
                <p className="font-medium">{question.title || question.prompt || nameOf(nodeId)}</p>
                <AnswerForm pauseId={pauseId} question={question} until={until} onDone={reload} />
              </div>
            )
          );
        })}
      <div className="min-h-80">
        <Suspense fallback={<Skeleton lines={6} />}>
          {version.data && <Canvas version={version.data} nodes={run.nodes} onSelect={setSelected} />}
        </Suspense>
      </div>
      {node && (
        <NodePanel
          node={node}
          nodes={run.nodes}
          nameOf={nameOf}
          onSelect={setSelected}
          onRerun={can("approver") && isOver && run.index === undefined ? () => rerun(node.nodeId) : undefined}
          isBusy={isBusy}
        />
      )}
      <Children runId={runId} />
      <Section title={t`Timeline`}>
        <Suspense fallback={<Skeleton />}>
          <Timeline entries={entries} begin={begin} end={end} nameOf={nameOf} onSelect={setSelected} />
        </Suspense>
      </Section>
      {isCancelling && (
        <Confirm
          onClose={() => setCancelling(false)}
          title={t`Cancel this run?`}
          action={t`Cancel the run`}
          onConfirm={async () => {
            await client.POST("/runs/{id}/cancel", { ...path, body: {} });
            await reload();
          }}
        >
          <p>{t`What it is doing is interrupted, and the runs that it waits for are cancelled, too. What has happened outside is not taken back.`}</p>
        </Confirm>
      )}
    </Page>
  );
}
