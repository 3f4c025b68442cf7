import "@xyflow/react/dist/base.css";
import { useLingui } from "@lingui/react/macro";
import { Background, Controls, Handle, type Node, type NodeProps, Position, ReactFlow } from "@xyflow/react";
import { useMemo } from "react";
import type { Schemas } from "@/api";
import { nodeStates } from "@/parts";
import { StateBadge } from "@/ui";
import { placed } from "./layout";

type Shown = Node<{ name: string; status: Schemas["RunNodeStatus"] }>;

const borders: Record<Schemas["RunNodeStatus"], string> = {
  pending: "border-line opacity-70",
  running: "border-info",
  waiting: "border-warn",
  completed: "border-ok",
  failed: "border-danger",
  skipped: "border-line border-dashed opacity-60",
  cancelled: "border-line",
};

function Card({ data }: NodeProps<Shown>) {
  return (
    <div className={`w-52 rounded-md border-2 bg-panel px-3 py-2 ${borders[data.status]}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <p className="truncate font-medium">{data.name}</p>
      <StateBadge of={nodeStates[data.status]} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

const types = { card: Card };

type Props = { version: Schemas["WorkflowVersion"]; nodes: Schemas["RunNode"][]; onSelect: (nodeId: string) => void };

/** The graph of a run's version, with what became of each node and the edges that were taken. */
export default function Canvas({ version, nodes, onSelect }: Props) {
  const { t } = useLingui();
  const states = useMemo(() => new Map(nodes.map((node) => [node.nodeId, node])), [nodes]);
  const shown = useMemo<Shown[]>(
    () =>
      placed(version).map(({ node, position }) => ({
        id: node.id,
        type: "card",
        position,
        data: { name: node.name, status: states.get(node.id)?.status ?? "pending" },
        ariaLabel: node.name,
      })),
    [version, states],
  );
  const edges = useMemo(
    () =>
      version.edges.map((edge) => {
        const [from, to] = [states.get(edge.sourceNodeId), states.get(edge.targetNodeId)];
        const isTaken = Boolean(
          from &&
            to &&
            !["pending", "skipped"].includes(to.status) &&
            (!from.branch || !edge.sourceOutputKey || edge.sourceOutputKey === from.branch),
        );
        const label = edge.label ?? edge.sourceOutputKey;
        return {
          id: edge.id,
          source: edge.sourceNodeId,
          target: edge.targetNodeId,
          label,
          style: { stroke: isTaken ? "var(--accent)" : "var(--strong-line)", strokeWidth: isTaken ? 2.5 : 1, opacity: isTaken ? 1 : 0.6 },
          labelStyle: { fill: "var(--text)" },
          labelBgStyle: { fill: "var(--panel)" },
        };
      }),
    [version, states],
  );
  return (
    <section aria-label={t`Graph`} className="h-80 overflow-hidden rounded-lg border border-line bg-bg">
      <ReactFlow
        nodes={shown}
        edges={edges}
        nodeTypes={types}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_, node) => onSelect(node.id)}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  );
}
