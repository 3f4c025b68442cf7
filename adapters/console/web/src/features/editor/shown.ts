import { type Edge, type Node, Position } from "@xyflow/react";
import { outputsOf, runsBody } from "./catalogue";
import { card, depthOf, grouped, outputTop, sizesOf } from "./layout";
import { type Graph, type GraphEdge, type GraphNode, same } from "./model";

export type NodeData = { node: GraphNode; outputs: { key: string; isUsed: boolean }[]; isEmpty: boolean };
export type ShownNode = Node<NodeData, "card" | "body">;
export type ShownEdge = Edge<{ edge: GraphEdge }, "wire">;

const handle = 10;
export const handleOf = (output: string) => `out:${output}`;
export const outputOf = (handle: string | null | undefined) => handle?.slice("out:".length) || undefined;

/** Makes what the canvas shows of a graph. What has not changed is the same object as before, so that it is not drawn anew. */
export function newShower() {
  let nodesBefore = new Map<string, ShownNode>();
  let edgesBefore = new Map<string, ShownEdge>();

  const nodesOf = (graph: Graph, selected: string[], dragged: Record<string, { x: number; y: number }>): ShownNode[] => {
    const bySource = grouped(graph.edges);
    const moved = { ...graph, nodes: { ...graph.nodes } };
    for (const [id, position] of Object.entries(dragged)) if (moved.nodes[id]) moved.nodes[id] = { ...moved.nodes[id], position };
    const sizes = sizesOf(moved);
    const chosen = new Set(selected);
    const parents = new Set(Object.values(graph.nodes).map(({ parentId }) => parentId));
    const made = Object.values(graph.nodes).map((node) => {
      const { width, height } = sizes.get(node.id) as { width: number; height: number };
      const isBody = runsBody(node.type) || parents.has(node.id);
      const used = bySource.get(node.id) ?? [];
      const outputs = outputsOf(node, used).map((key) => ({ key, isUsed: used.some(({ sourceOutputKey = "" }) => sourceOutputKey === key) }));
      const position = dragged[node.id] ?? node.position;
      const before = nodesBefore.get(node.id);
      const data = { node, outputs, isEmpty: isBody && !parents.has(node.id) };
      if (before && before.selected === chosen.has(node.id) && before.width === width && before.height === height && before.data.node === node) {
        if (same(before.position, position) && same(before.data.outputs, outputs) && before.data.isEmpty === data.isEmpty) return before;
      }
      const centred = (x: number, y: number) => ({ x: x - handle / 2, y: y - handle / 2, width: handle, height: handle });
      return {
        id: node.id,
        type: isBody ? "body" : "card",
        position,
        parentId: node.parentId,
        data,
        selected: chosen.has(node.id),
        width,
        height,
        measured: { width, height },
        handles: [
          { id: "in", type: "target", position: Position.Left, ...centred(0, card.height / 2) },
          ...outputs.map(({ key }, at) => ({
            id: handleOf(key),
            type: "source" as const,
            position: Position.Right,
            ...centred(width, outputTop(at, outputs.length, isBody)),
          })),
        ],
        ariaLabel: node.name,
      } satisfies ShownNode as ShownNode;
    });
    nodesBefore = new Map(made.map((node) => [node.id, node]));
    // React Flow wants a node after the one whose body it is in.
    return parents.size > 1 ? made.sort((a, b) => depthOf(graph, a.id) - depthOf(graph, b.id)) : made;
  };

  const edgesOf = ({ nodes, edges }: Graph, selected: string[]): ShownEdge[] => {
    const made = Object.entries(edges).map(([id, edge]) => {
      const before = edgesBefore.get(id);
      const isSelected = selected.includes(id);
      if (before && before.data?.edge === edge && before.selected === isSelected) return before;
      return {
        id,
        type: "wire" as const,
        source: edge.sourceNodeId,
        target: edge.targetNodeId,
        sourceHandle: handleOf(edge.sourceOutputKey ?? ""),
        targetHandle: "in",
        selected: isSelected,
        reconnectable: isSelected, // or its ends would lie over those of the others
        zIndex: nodes[edge.sourceNodeId]?.parentId ? 2 : 0,
        data: { edge },
        ariaLabel: `${nodes[edge.sourceNodeId]?.name} → ${nodes[edge.targetNodeId]?.name}`,
      };
    });
    edgesBefore = new Map(made.map((edge) => [edge.id, edge]));
    return made;
  };

  return { nodesOf, edgesOf };
}
