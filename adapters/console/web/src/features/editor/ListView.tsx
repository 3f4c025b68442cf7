import { useLingui } from "@lingui/react/macro";
import { ArrowRight, CircleAlert, Link2, Plus, Trash2, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Button, Empty, FormDialog, Menu, MenuItem, MenuLine, SelectField, textOf } from "@/ui";
import { iconOf, outputsOf, runsBody, typeOf } from "./catalogue";
import { useEditor, useFindings, useGraph, useIsReadOnly, useView } from "./context";
import { type GraphNode, refusal } from "./model";
import { SimulatedStatus, useOutputName } from "./NodeCard";
import { listed } from "./order";

/** The graph as a list, with the same commands: for whoever works by keys, or does not see the canvas. */
export default function ListView() {
  const { t } = useLingui();
  const { view } = useEditor();
  const graph = useGraph();
  const isReadOnly = useIsReadOnly();
  const [connecting, setConnecting] = useState<GraphNode>();
  const nodes = listed(graph);
  return (
    <section id="nodes" tabIndex={-1} aria-label={t`Nodes in their order`} className="min-h-0 outline-none min-w-0 flex-1 overflow-y-auto bg-bg p-4">
      {nodes.length === 0 ? (
        <Empty
          title={t`There is no node yet`}
          action={!isReadOnly && <Button look="primary" icon={Plus} label={t`Add the first node`} onClick={() => view.setState({ adding: {} })} />}
        />
      ) : (
        <ol className="flex flex-col gap-1.5">
          {nodes.map(({ node, depth }) => (
            <Row key={node.id} node={node} depth={depth} onConnect={() => setConnecting(node)} />
          ))}
        </ol>
      )}
      {connecting && <Connect from={connecting} onClose={() => setConnecting(undefined)} />}
    </section>
  );
}

function Row({ node, depth, onConnect }: { node: GraphNode; depth: number; onConnect: () => void }) {
  const { t } = useLingui();
  const { editing, view, types } = useEditor();
  const { nodes, edges } = useGraph();
  const isReadOnly = useIsReadOnly();
  const isSelected = useView((shown) => shown.nodes.includes(node.id));
  const findings = useFindings("node", node.id);
  const nameOf = useOutputName();
  const Icon = iconOf(node.type);
  const isBroken = findings.some(({ isWarning }) => !isWarning);
  const out = Object.entries(edges).filter(([, { sourceNodeId }]) => sourceNodeId === node.id);
  const into = Object.values(edges).filter(({ targetNodeId }) => targetNodeId === node.id);
  return (
    <li
      style={{ marginLeft: depth * 24 }}
      className={`flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md border bg-panel px-3 py-1.5 ${isSelected ? "border-accent" : "border-line"}`}
    >
      <Icon aria-hidden className="size-4 shrink-0 text-accent" />
      <button
        type="button"
        data-id={node.id}
        aria-current={isSelected || undefined}
        className="min-h-6 min-w-0 truncate text-left font-medium hover:underline"
        onClick={() => view.setState({ nodes: [node.id], edges: [], adding: undefined, takesFocus: true })}
      >
        {node.name}
      </button>
      <span className="text-quiet">{typeOf(types, node)?.name ?? node.type}</span>
      {into.length === 0 && !node.parentId && <span className="text-xs text-quiet">{t`Runs begin here`}</span>}
      {findings.length > 0 &&
        (isBroken ? (
          <CircleAlert aria-label={t`has problems`} className="size-4 text-danger" />
        ) : (
          <TriangleAlert aria-label={t`has warnings`} className="size-4 text-warn" />
        ))}
      <SimulatedStatus id={node.id} />
      <span className="flex-1" />
      {out.map(([id, { sourceOutputKey = "", targetNodeId }]) => (
        <button
          key={id}
          type="button"
          data-id={id}
          className="inline-flex min-h-6 items-center gap-1 rounded border border-line px-1.5 text-xs hover:bg-hover"
          onClick={() => view.setState({ nodes: [], edges: [id], adding: undefined })}
        >
          {sourceOutputKey && <span className="text-quiet">{nameOf(sourceOutputKey)}</span>}
          <ArrowRight role="img" aria-label={t`leads to`} className="size-3" />
          {nodes[targetNodeId]?.name}
        </button>
      ))}
      {!isReadOnly && (
        <Menu label={t`Actions for ${node.name}`}>
          {outputsOf(node, []).map((output) => (
            <MenuItem
              key={output}
              icon={Plus}
              label={output ? t`Add a node: ${nameOf(output)}` : t`Add a node after it`}
              onSelect={() => setTimeout(() => view.setState({ adding: { insertion: { after: node.id, output: output || undefined } } }))}
            />
          ))}
          {runsBody(node.type) && (
            <MenuItem
              icon={Plus}
              label={t`Add what runs for each item`}
              onSelect={() => setTimeout(() => view.setState({ adding: { into: node.id } }))}
            />
          )}
          <MenuItem icon={Link2} label={t`Connect to…`} onSelect={() => setTimeout(onConnect)} />
          <MenuLine />
          <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => editing.run({ do: "remove", nodes: [node.id], edges: [] })} />
        </Menu>
      )}
    </li>
  );
}

/** Asks which node shall follow, and after what. */
function Connect({ from, onClose }: { from: GraphNode; onClose: () => void }) {
  const { t } = useLingui();
  const { editing } = useEditor();
  const graph = useGraph();
  const nameOf = useOutputName();
  const outputs = outputsOf(from, Object.values(graph.edges));
  const targets = Object.values(graph.nodes).filter(({ id }) => !refusal(graph, { sourceNodeId: from.id, targetNodeId: id }));
  const connect = (form: FormData) => {
    const target = textOf(form, "target");
    if (target) editing.run({ do: "connect", edge: { sourceNodeId: from.id, targetNodeId: target, sourceOutputKey: textOf(form, "output") } });
    onClose();
  };
  return (
    <FormDialog title={t`Connect ${from.name}`} onClose={onClose} request={{ error: null, isPending: false }} onSubmit={connect} action={t`Connect`}>
      {outputs.length > 1 && (
        <SelectField
          name="output"
          label={t({ message: "After", context: "an output" })}
          options={Object.fromEntries(outputs.map((key) => [key, nameOf(key)]))}
        />
      )}
      <SelectField name="target" label={t`It leads to`} options={Object.fromEntries(targets.map(({ id, name }) => [id, name]))} />
    </FormDialog>
  );
}
