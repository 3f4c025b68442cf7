import { Trans, useLingui } from "@lingui/react/macro";
import { Copy, Trash2, X } from "lucide-react";
import { lazy } from "react";
import { Button, IconButton, toast } from "@/ui";
import { copySelected, removeSelected } from "./actions";
import { useEditor, useGraph, useIsReadOnly, useView } from "./context";
import { focusOnButton } from "./keys";
import { Palette } from "./Palette";
import { Part } from "./Part";

const Triggers = lazy(() => import("./Triggers"));
const loadNodePanel = () => import("./NodePanel");
const loadEdgePanel = () => import("./EdgePanel");
const NodePanel = lazy(() => loadNodePanel().then((panel) => ({ default: panel.NodePanel })));
const EdgePanel = lazy(() => loadEdgePanel().then((panel) => ({ default: panel.EdgePanel })));

/** Loads what is needed as soon as somebody chooses something, and then all else, so that it is there without a connection, too. */
export async function loadPanels() {
  await Promise.all([loadNodePanel(), loadEdgePanel(), import("./ExpressionField").then(({ loadCodeEditor }) => loadCodeEditor())]);
  await Promise.all([
    import("./Problems"),
    import("./ListView"),
    import("./Triggers"),
    import("./Simulation"),
    import("./Compare"),
    import("./RunVersion"),
    import("./FormBuilder"),
    import("@/parts/connections"),
  ]);
}

/** What stands next to the canvas: the palette, what starts the workflow, or what is selected. On a narrow screen it lies over the canvas' end. */
export function Side() {
  const { t } = useLingui();
  const { view } = useEditor();
  const graph = useGraph();
  const isReadOnly = useIsReadOnly();
  const { nodes, edges, adding, isListingTriggers } = useView((shown) => shown);
  const chosenNodes = nodes.flatMap((id) => graph.nodes[id] ?? []);
  const chosenEdges = edges.filter((id) => graph.edges[id]);
  const [node] = chosenNodes;
  const [edge = ""] = chosenEdges;
  const count = chosenNodes.length + chosenEdges.length;
  const isTriggers = Boolean(isListingTriggers) && adding === undefined && count === 0;
  const isPalette = !isTriggers && (adding !== undefined || count === 0);
  if (isPalette && isReadOnly) return null;
  const closePalette = () => {
    view.setState({ adding: undefined });
    focusOnButton("add");
  };
  const isAsked = isTriggers || adding !== undefined || count > 0;
  return (
    <aside
      aria-label={isPalette ? t`Nodes` : isTriggers ? t`Triggers` : t`Selection`}
      className={`flex min-h-0 flex-col border-line bg-panel max-md:absolute max-md:inset-x-0 max-md:bottom-0 max-md:z-20 max-md:max-h-[65%] max-md:border-t max-md:shadow-lg md:w-80 md:border-l ${isAsked ? "" : "max-md:hidden"}`}
    >
      {isPalette ? (
        <>
          {adding && (
            <header className="flex items-center gap-2 pt-2 pr-2 pl-4">
              <h2 className="flex-1 font-semibold">{adding.insertion ? t`What comes next?` : t`Add a node`}</h2>
              <IconButton icon={X} label={t`Close`} onClick={closePalette} />
            </header>
          )}
          <Palette key={String(adding !== undefined)} />
        </>
      ) : isTriggers ? (
        <Part key="triggers">
          <Triggers />
        </Part>
      ) : count > 1 ? (
        <Several count={count} />
      ) : (
        <Part key="panel" lines={4}>
          {node ? <NodePanel key={node.id} node={node} /> : <EdgePanel id={edge} edge={graph.edges[edge] as (typeof graph.edges)[string]} />}
        </Part>
      )}
    </aside>
  );
}

/** What can be done with several nodes at once. */
function Several({ count }: { count: number }) {
  const { t } = useLingui();
  const editor = useEditor();
  const isReadOnly = useIsReadOnly();
  const copy = async () => {
    const text = copySelected(editor);
    if (!text) return;
    await navigator.clipboard.writeText(text);
    toast(t`Copied`);
  };
  return (
    <section aria-label={t`Selection`} className="flex flex-col gap-3 p-4">
      <h2 className="font-semibold">
        <Trans>{count} are selected</Trans>
      </h2>
      <Button icon={Copy} label={t`Copy as JSON`} onClick={() => void copy()} />
      {!isReadOnly && <Button icon={Trash2} label={t`Delete all of them`} onClick={() => removeSelected(editor)} />}
    </section>
  );
}
