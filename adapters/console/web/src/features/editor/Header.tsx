import { useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useReactFlow } from "@xyflow/react";
import {
  CircleAlert,
  FlaskConical,
  GitCompareArrows,
  History,
  List,
  Pencil,
  Play,
  Plus,
  Redo2,
  Rocket,
  TriangleAlert,
  Undo2,
  WandSparkles,
  Workflow,
  Zap,
} from "lucide-react";
import { lazy, Suspense, use, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { attempt, Button, ErrorBoundary, HasPage, IconButton, Link, toast, toastError, useShortcut } from "@/ui";
import { useEditor, useGraph, useIsReadOnly, useSession, useView } from "./context";
import { validation } from "./findings";
import { Publish } from "./Publish";
import { SaveState } from "./SaveState";
import { tidyPlaces } from "./tidy";

const Compare = lazy(() => import("./Compare"));
const RunVersion = lazy(() => import("./RunVersion"));

/** What the workflow is called, whether it is saved, and what can be done with all of it. */
export function Header({ workflow }: { workflow: Schemas["Workflow"] }) {
  const { t } = useLingui();
  const { api, client, id: tenantId, may } = useTenant();
  const hasPage = use(HasPage);
  const queries = useQueryClient();
  const { editing, view, findings } = useEditor();
  const isReadOnly = useIsReadOnly();
  const number = useSession((session) => session.number);
  const canUndo = useSession(({ history }) => history.past.length > 0);
  const canRedo = useSession(({ history }) => history.future.length > 0);
  const isEmpty = Object.keys(useGraph().nodes).length === 0;
  const isListing = useView(({ isListingProblems }) => isListingProblems);
  const isList = useView((shown) => shown.isList);
  const isListingTriggers = useView((shown) => shown.isListingTriggers);
  const isSimulating = useView((shown) => shown.isSimulating);
  const versionId = useSession((session) => session.versionId);
  const active = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId: workflow.id, isActive: true, limit: 1 } } }).data
    ?.items[0];
  const isFormer = active !== undefined && active.id !== versionId;
  const [asks, setAsks] = useState<"publish" | "run" | "compare" | null>(null);
  const { fitView } = useReactFlow();
  const errors = findings.filter(({ isWarning }) => !isWarning).length;

  const tidy = async () => {
    const graph = editing.store.getState().history.graph;
    editing.run({ do: "move", to: await tidyPlaces(graph) });
    requestAnimationFrame(() => void fitView({ maxZoom: 1, padding: 0.15, duration: 200 }));
  };
  /** Begins a draft; what stands against it is said by the state of saving. */
  const begin = async () => {
    if (!(await editing.saveAsDraft())) throw new Error(t`The draft could not be saved.`);
  };
  const add = () => {
    const { nodes } = view.getState();
    view.setState({ adding: nodes.length === 1 && nodes[0] ? { insertion: { after: nodes[0] } } : {}, nodes: [], edges: [] });
  };
  /** Saves first. Where the gateway finds errors, the list of problems opens. */
  const ask = async (what: "publish" | "run") => {
    if (!(await editing.flush())) return toast(t`The last changes could not be saved.`);
    const isRefused =
      what === "publish" && (await queries.fetchQuery({ ...validation(client, editing), staleTime: 0 })).some(({ isWarning }) => !isWarning);
    if (isRefused) view.setState({ isListingProblems: true });
    else setAsks(what);
  };
  const toggleSimulation = () => view.setState({ isSimulating: !isSimulating });
  useShortcut(isEmpty ? undefined : { keys: "s", label: t`Simulate`, run: toggleSimulation });
  useShortcut({ keys: "l", label: isList ? t`Show the graph` : t`Show a list`, run: () => view.setState({ isList: !isList }) });
  useShortcut(isReadOnly ? undefined : { keys: "a", label: t`Add a node`, run: add });
  useShortcut(isReadOnly ? undefined : { keys: "t", label: t`Tidy up`, run: () => void tidy().catch(toastError) });

  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line bg-panel px-4 py-2">
      <div className="min-w-0 flex-1 basis-56">
        {hasPage(`/t/${tenantId}/workflows`) && (
          <nav className="text-xs leading-[24px] text-quiet">
            <Link to={`/t/${tenantId}/workflows`} className="inline-block hover:underline">{t`Workflows`}</Link>
          </nav>
        )}
        <h1 className="truncate text-base leading-5 font-semibold">
          <Link to={`/t/${tenantId}/workflows/${workflow.id}`} className="hover:underline">
            {workflow.name}
          </Link>
          <span className="ml-2 text-sm font-normal text-quiet">
            {isReadOnly ? t`Version ${number ?? 1}` : number ? t`Draft ${number}` : t`New draft`}
          </span>
        </h1>
      </div>
      <SaveState />
      <div className="flex flex-wrap items-center gap-1">
        <IconButton
          icon={isList ? Workflow : List}
          label={isList ? t`Show the graph` : t`Show a list`}
          onClick={() => view.setState({ isList: !isList })}
        />
        {may("triggers:read") && (
          <IconButton
            id="triggers"
            icon={Zap}
            label={t`Triggers`}
            aria-expanded={Boolean(isListingTriggers)}
            onClick={() => view.setState({ isListingTriggers: true, nodes: [], edges: [], adding: undefined })}
          />
        )}
        {number !== undefined && <IconButton icon={GitCompareArrows} label={t`Compare versions`} onClick={() => setAsks("compare")} />}
        {!isReadOnly && (
          <>
            <IconButton icon={Undo2} label={t`Undo`} disabled={!canUndo} onClick={editing.undo} />
            <IconButton icon={Redo2} label={t`Redo`} disabled={!canRedo} onClick={editing.redo} />
            <IconButton icon={WandSparkles} label={t`Tidy up`} disabled={isEmpty} onClick={() => void tidy().catch(toastError)} />
            <Button id="add" icon={Plus} label={<span className="max-sm:sr-only">{t`Add a node`}</span>} onClick={add} />
          </>
        )}
        {findings.length > 0 && (
          <Button
            icon={errors > 0 ? CircleAlert : TriangleAlert}
            className={errors > 0 ? "text-danger" : "text-warn"}
            aria-expanded={Boolean(isListing)}
            label={findings.length}
            id="problems"
            aria-label={t`Problems: ${findings.length}`}
            title={t`Problems`}
            onClick={() => view.setState({ isListingProblems: !isListing })}
          />
        )}
        {!isEmpty && (
          <Button
            id="simulate"
            icon={FlaskConical}
            aria-expanded={Boolean(isSimulating)}
            label={<span className="max-sm:sr-only">{t`Simulate`}</span>}
            onClick={toggleSimulation}
          />
        )}
        {may("runs:start") && !isEmpty && (
          <Button
            icon={Play}
            label={<span className="max-sm:sr-only">{t({ message: "Run", context: "to run" })}</span>}
            onClick={() => void ask("run").catch(toastError)}
          />
        )}
        {isReadOnly && may("workflows:publish") && isFormer && (
          <Button icon={History} label={t`Make it active again`} onClick={() => setAsks("publish")} />
        )}
        {isReadOnly && may("workflows:write") && (
          <Button look="primary" icon={Pencil} label={t`Edit`} onClick={() => void attempt(begin(), t`A new draft begins with this version`)} />
        )}
        {!isReadOnly && may("workflows:publish") && (
          <Button look="primary" icon={Rocket} label={t`Publish`} disabled={isEmpty} onClick={() => void ask("publish").catch(toastError)} />
        )}
      </div>
      {asks === "publish" && <Publish onClose={() => setAsks(null)} />}
      <ErrorBoundary key={asks}>
        <Suspense>
          {asks === "compare" && <Compare onClose={() => setAsks(null)} />}
          {asks === "run" && <RunVersion onClose={() => setAsks(null)} />}
        </Suspense>
      </ErrorBoundary>
    </header>
  );
}
