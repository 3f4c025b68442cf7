import { Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Ban, Repeat, RotateCcw } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTenant } from "@/api";
import { Button, Confirm, duration, ErrorPanel, Facts, Identifier, Link, Page, Section, Skeleton, Time, toast, toastError } from "@/ui";
import { Answer } from "./Answer";
import { Children } from "./Children";
import { useHistory } from "./history";
import { NodePanel } from "./NodePanel";
import { RunStatus } from "./Status";

const Canvas = lazy(() => import("./Canvas"));
const Timeline = lazy(() => import("./Timeline"));

export default function RunPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const queries = useQueryClient();
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
  const { entries } = useHistory(runId, run?.retries ?? 0);
  const [selected, setSelected] = useState<string | null>(null);
  const [isCancelling, setCancelling] = useState(false);
  const [isBusy, setBusy] = useState(false);

  if (error && !run) return <Page title={t`Run`}>{<ErrorPanel error={error} onRetry={() => void refetch()} />}</Page>;
  if (!run) return <Page title={t`Run`}>{<Skeleton />}</Page>;

  const reload = () => queries.invalidateQueries({ predicate: ({ queryKey }) => /^\/(runs|pauses)/.test(String(queryKey[1])) });
  const act = (what: Promise<unknown>, done: string) => {
    setBusy(true);
    void what
      .then(async () => {
        toast(done);
        await reload();
      }, toastError)
      .finally(() => setBusy(false));
  };
  const rerun = (from?: string) => {
    setBusy(true);
    void client
      .POST("/runs/{id}/rerun", { ...path, body: from ? { from } : {} })
      .then(({ data }) => {
        toast(t`The run is repeated as another one`);
        if (data) void navigate({ to: `/t/${tenantId}/runs/${data.id}` });
      }, toastError)
      .finally(() => setBusy(false));
  };
  const isOver = ["completed", "failed", "cancelled"].includes(run.status);
  const node = run.nodes.find(({ nodeId }) => nodeId === (selected ?? run.error?.nodeId)) ?? run.nodes[0];
  const nameOf = (nodeId: string) => version.data?.nodes.find(({ id }) => id === nodeId)?.name || nodeId;
  const begin = new Date(run.createdAt).getTime();
  const last = entries.at(-1);
  const end = Math.max(isOver && run.finishedAt ? new Date(run.finishedAt).getTime() : Date.now(), last ? new Date(last.at).getTime() : begin);

  return (
    <Page
      title={run.entityId}
      parents={[{ label: <Trans>Runs</Trans>, to: `/t/${tenantId}/runs` }]}
      actions={
        can("approver") && (
          <>
            {run.status === "failed" && (
              <Button
                look="primary"
                icon={RotateCcw}
                isBusy={isBusy}
                onClick={() => act(client.POST("/runs/{id}/retry", path), t`The run is retried where it failed`)}
              >
                <Trans>Retry where it failed</Trans>
              </Button>
            )}
            {isOver && run.index === undefined && (
              <Button icon={Repeat} isBusy={isBusy} onClick={() => rerun()}>
                <Trans>Run again</Trans>
              </Button>
            )}
            {!isOver && (
              <Button icon={Ban} onClick={() => setCancelling(true)}>
                <Trans>Cancel the run</Trans>
              </Button>
            )}
          </>
        )
      }
    >
      <Facts
        facts={[
          [<Trans key="l">State</Trans>, <RunStatus key="v" status={run.status} />],
          [
            <Trans key="l">Workflow</Trans>,
            <Link key="v" to={`/t/${tenantId}/workflows/${run.workflowId}`}>
              {workflow.data?.name ?? run.workflowId}
            </Link>,
          ],
          [<Trans key="l">Version</Trans>, version.data?.version],
          [<Trans key="l">Started by</Trans>, <code key="v">{run.cause}</code>],
          [<Trans key="l">Created</Trans>, <Time key="v" at={run.createdAt} />],
          [<Trans key="l">Waited for a worker</Trans>, run.startedAt && duration(new Date(run.startedAt).getTime() - begin)],
          [
            <Trans key="l">Took</Trans>,
            run.startedAt && run.finishedAt && duration(new Date(run.finishedAt).getTime() - new Date(run.startedAt).getTime()),
          ],
          [<Trans key="l">Identifier</Trans>, <Identifier key="v" id={run.id} />],
          [
            <Trans key="l">Started by the run</Trans>,
            run.parentRunId && (
              <Link key="v" to={`/t/${tenantId}/runs/${run.parentRunId}`}>
                {run.parentNodeId ?? run.parentRunId}
              </Link>
            ),
          ],
          [
            <Trans key="l">Repeats the run</Trans>,
            run.rerunOf && (
              <Link key="v" to={`/t/${tenantId}/runs/${run.rerunOf}`}>
                {run.rerunOf}
              </Link>
            ),
          ],
        ]}
      />
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
        run.nodes.map(
          ({ nodeId, waiting }) =>
            waiting?.pauseId && waiting.question && <Answer key={nodeId} pauseId={waiting.pauseId} question={waiting.question} onDone={reload} />,
        )}
      <Suspense fallback={<Skeleton lines={6} />}>
        {version.data && <Canvas version={version.data} nodes={run.nodes} onSelect={setSelected} />}
      </Suspense>
      {node && (
        <NodePanel
          node={node}
          nodes={run.nodes}
          nameOf={nameOf}
          onSelect={setSelected}
          onRerun={can("approver") && isOver && run.index === undefined ? () => rerun(node.nodeId) : undefined}
        />
      )}
      <Children runId={runId} />
      <Section title={<Trans>Timeline</Trans>}>
        <Suspense fallback={<Skeleton />}>
          <Timeline entries={entries} begin={begin} end={end} nameOf={nameOf} onSelect={setSelected} />
        </Suspense>
      </Section>
      <Confirm
        isOpen={isCancelling}
        onClose={() => setCancelling(false)}
        title={<Trans>Cancel this run?</Trans>}
        action={<Trans>Cancel the run</Trans>}
        onConfirm={async () => {
          await client.POST("/runs/{id}/cancel", { ...path, body: {} });
          await reload();
        }}
      >
        <p>
          <Trans>
            What it is doing is interrupted, and the runs that it waits for are cancelled, too. What has happened outside is not taken back.
          </Trans>
        </p>
      </Confirm>
    </Page>
  );
}
