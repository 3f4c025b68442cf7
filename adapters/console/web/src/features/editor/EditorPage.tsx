import { useLingui } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { useBlocker, useParams } from "@tanstack/react-router";
import { ReactFlowProvider } from "@xyflow/react";
import { lazy, use, useEffect, useMemo, useRef, useState } from "react";
import { useStore } from "zustand";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, UnreadPage, useSearchParameters } from "@/ui";
import { Canvas } from "./Canvas";
import { Conflict } from "./Conflict";
import { EditorContext, useEditor, useGraph, useView } from "./context";
import { useServerFindings } from "./findings";
import { Header } from "./Header";
import { HostContext } from "./host";
import { useHistoryKeys } from "./keys";
import { edit, type Stored } from "./model";
import { Part } from "./Part";
import { usePublish } from "./Publish";
import { loadPanels, Side } from "./Side";
import { serverOf, storedOf } from "./server";
import { newView } from "./view";

// What is only looked at when somebody asks for it.
const ListView = lazy(() => import("./ListView"));
const Problems = lazy(() => import("./Problems"));
const Simulation = lazy(() => import("./Simulation"));

/** The editor of a workflow: its draft, or else the version that is active or named in the address. */
export default function EditorPage() {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const { workflowId } = useParams({ strict: false }) as { workflowId: string };
  const [{ version, run }] = useSearchParameters();
  const workflow = api.useQuery("get", "/workflows/{id}", { params: { path: { id: workflowId } } });
  const registry = api.useQuery("get", "/custom-nodes/registry", {}, { staleTime: 60_000 });
  const opened = useQuery({
    queryKey: ["editor", "open", workflowId, version ?? ""],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: async (): Promise<Stored | null> => {
      const first = async (isActive?: true) =>
        (await client.GET("/workflow-versions", { params: { query: { workflowId, isActive, limit: 1 } } })).data?.items[0];
      const newest = version ? undefined : await first();
      const id = version ?? (newest?.publishedAt ? ((await first(true)) ?? newest).id : newest?.id);
      return id ? storedOf(await client.GET("/workflow-versions/{id}", { params: { path: { id } }, cache: "no-store" })) : null;
    },
  });
  const unread = [workflow, registry, opened].find(({ data }) => data === undefined);
  if (unread || !workflow.data || !registry.data) return <UnreadPage title={t`Editor`} query={unread ?? workflow} />;
  return (
    <ReactFlowProvider key={`${workflowId} ${version ?? ""}`}>
      <Editor workflow={workflow.data} types={registry.data.nodes} opened={opened.data ?? undefined} isSimulating={run !== undefined} />
    </ReactFlowProvider>
  );
}

type Props = { workflow: Schemas["Workflow"]; types: Schemas["RegistryEntry"][]; opened: Stored | undefined; isSimulating: boolean };

function Editor({ workflow, types, opened, isSimulating }: Props) {
  const { client, may } = useTenant();
  const host = use(HostContext);
  const workflowId = workflow.id;
  const mayWrite = may("workflows:write");
  const [editing] = useState(() => edit(serverOf(client, workflowId), opened, mayWrite));
  const [view] = useState(() => newView(isSimulating));
  const findings = useServerFindings(editing);
  const editor = useMemo(() => ({ workflowId, editing, view, types, findings }), [workflowId, editing, view, types, findings]);
  useEffect(() => editing.permit(mayWrite), [editing, mayWrite]);
  useEffect(() => void loadPanels().catch(() => {}), []); // what is missing is loaded when it is needed
  useEffect(() => {
    document.title = `${workflow.name} · Sluice`;
  }, [workflow.name]);
  return (
    <EditorContext value={editor}>
      <Keys />
      <Others />
      <div className={`flex flex-col ${host ? "h-dvh" : "h-[calc(100dvh-3.75rem)] md:h-dvh"}`}>
        <Header workflow={workflow} />
        <div className="relative flex min-h-0 flex-1">
          <Graph />
          <Side />
        </div>
        <ProblemsIfAsked />
        <SimulationIfAsked />
      </div>
      <Conflict />
      <Leaving />
      <Attached />
    </EditorContext>
  );
}

/** Gives the editor to what shows it. */
function Attached() {
  const { editing, workflowId } = useEditor();
  const host = use(HostContext);
  const publish = usePublish();
  const latest = useRef(publish);
  latest.current = publish;
  useEffect(() => host?.attach({ workflowId, editing, publish: () => latest.current() }), [host, workflowId, editing]);
  return null;
}

function Graph() {
  const isList = useView((shown) => shown.isList);
  return isList ? (
    <Part lines={4}>
      <ListView />
    </Part>
  ) : (
    <Canvas />
  );
}

function Keys() {
  useHistoryKeys();
  return null;
}

function ProblemsIfAsked() {
  const isListing = useView(({ isListingProblems }) => isListingProblems);
  if (!isListing) return null;
  return (
    <Part lines={2}>
      <Problems />
    </Part>
  );
}

function SimulationIfAsked() {
  const isSimulating = useView((shown) => shown.isSimulating);
  const isEmpty = Object.keys(useGraph().nodes).length === 0;
  if (!isSimulating || isEmpty) return null;
  return (
    <Part lines={4}>
      <Simulation />
    </Part>
  );
}

/** Takes in what others save, as soon as the page hears of it. */
function Others() {
  const { client } = useTenant();
  const { editing, workflowId } = useEditor();
  const versionId = useStore(editing.store, (session) => session.versionId);
  const { data, refetch } = useQuery({
    queryKey: ["get", "/workflow-versions/{id}", { params: { path: { id: versionId } } }, "editor"],
    enabled: versionId !== "",
    queryFn: async () => {
      const { etag } = editing.store.getState();
      return { knew: etag, stored: await serverOf(client, workflowId).read(versionId) };
    },
  });
  useEffect(() => {
    if (!data) return;
    // What was read before this page saved says nothing of others.
    if (data.knew === editing.store.getState().etag) editing.take(data.stored);
    else if (data.stored.etag !== editing.store.getState().etag) void refetch();
  }, [data, editing, refetch]);
  return null;
}

/** Saves before somebody goes to another page, and asks where that does not work. */
function Leaving() {
  const { t } = useLingui();
  const { editing } = useEditor();
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: async () => !(await editing.flush()),
    enableBeforeUnload: false,
    withResolver: true,
  });
  if (status !== "blocked") return null;
  const leave = () => {
    editing.stop();
    proceed();
  };
  return (
    <Dialog title={t`Leave without saving?`} description={t`The last changes could not be saved. They are lost if you leave now.`} onClose={reset}>
      <DialogButtons>
        <Button label={t`Stay`} onClick={reset} />
        <Button look="danger" label={t`Leave, and lose them`} onClick={leave} />
      </DialogButtons>
    </Dialog>
  );
}
