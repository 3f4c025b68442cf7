import dagre from "@dagrejs/dagre";
import type { TidyRequest } from "./tidy";

/** Lays out each body by itself, the innermost first, since a node is as large as its body. */
addEventListener("message", ({ data: { nodes, edges, inset, empty } }: MessageEvent<TidyRequest>) => {
  const places: Record<string, { x: number; y: number }> = {};
  const layOut = (parentId: string | undefined): { width: number; height: number } => {
    const members = nodes.filter((node) => node.parentId === parentId);
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "LR", nodesep: 32, ranksep: 72 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const { id, width, height, isBody } of members) graph.setNode(id, isBody ? layOut(id) : { width, height });
    const own = new Set(members.map(({ id }) => id));
    for (const [from, to] of edges) if (own.has(from) && own.has(to)) graph.setEdge(from, to);
    if (members.length === 0) return { ...empty };
    dagre.layout(graph);
    const laid = members.map(({ id }) => {
      const { x, y, width, height } = graph.node(id);
      return { id, x: x - width / 2, y: y - height / 2, right: x + width / 2, bottom: y + height / 2 };
    });
    const [left, top] = [Math.min(...laid.map(({ x }) => x)), Math.min(...laid.map(({ y }) => y))];
    const corner = parentId === undefined ? { x: 0, y: 0 } : { x: inset.x, y: inset.top };
    for (const { id, x, y } of laid) places[id] = { x: Math.round((x - left + corner.x) / 8) * 8, y: Math.round((y - top + corner.y) / 8) * 8 };
    return {
      width: Math.max(empty.width, Math.max(...laid.map(({ right }) => right)) - left + 2 * inset.x),
      height: Math.max(empty.height, Math.max(...laid.map(({ bottom }) => bottom)) - top + inset.top + inset.bottom),
    };
  };
  layOut(undefined);
  postMessage(places);
});
