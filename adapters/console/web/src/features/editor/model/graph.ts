import type { Schemas } from "@/api";

export type GraphNode = Omit<Schemas["Node"], "canPause">;
export type GraphEdge = Omit<Schemas["Edge"], "id">;

/** What a person draws: the nodes and edges of a version, and sample data of its nodes. It is never changed in place. */
export type Graph = {
  nodes: Record<string, GraphNode>;
  /** By `edgeKey`. */
  edges: Record<string, GraphEdge>;
  pins: Record<string, unknown>;
};

export const emptyGraph: Graph = { nodes: {}, edges: {}, pins: {} };

/** Identifies an edge by what it connects, since the server names edges anew whenever they are saved. */
export const edgeKey = ({ sourceNodeId, sourceOutputKey, targetNodeId, targetInputKey }: GraphEdge) =>
  JSON.stringify([sourceNodeId, sourceOutputKey ?? "", targetNodeId, targetInputKey ?? ""]);

/** The key for one more edge; a second one between the same ends has a number. */
export function freeEdgeKey(edges: Record<string, unknown>, edge: GraphEdge): string {
  const key = edgeKey(edge);
  let free = key;
  for (let count = 2; free in edges; count++) free = `${key}${count}`;
  return free;
}

type Version = Pick<Schemas["WorkflowVersion"], "nodes" | "edges" | "pins">;

/** Reads the graph of a version. */
export function graphOf({ nodes, edges, pins }: Version): Graph {
  const graph: Graph = { nodes: {}, edges: {}, pins: { ...pins } };
  for (const { canPause: _, ...node } of nodes) graph.nodes[node.id] = node;
  for (const { id: _, ...edge } of edges) graph.edges[freeEdgeKey(graph.edges, edge)] = edge;
  return graph;
}

/** How the server calls the edges of a version, by their keys. */
export function edgeIdsOf(edges: Version["edges"]): Record<string, string> {
  const ids: Record<string, string> = {};
  for (const { id, ...edge } of edges) ids[freeEdgeKey(ids, edge)] = id;
  return ids;
}

/** What is sent to save a graph. */
export const draftOf = ({ nodes, edges, pins }: Graph): Required<Pick<Schemas["UpdateWorkflowVersion"], "nodes" | "edges" | "pins">> => ({
  nodes: Object.values(nodes),
  edges: Object.values(edges),
  pins,
});

/** Says whether two JSON values are the same, whatever the order of their members. What is undefined is not there. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return Object.keys({ ...left, ...right }).every((key) => same(left[key], right[key]));
}

export const sameGraph = (a: Graph, b: Graph) => same(a, b);

/** The nodes in the body of a node, and in the bodies of those. */
export function bodyOf({ nodes }: Graph, id: string): string[] {
  const direct = Object.values(nodes).filter(({ parentId }) => parentId === id);
  return direct.flatMap((node) => [node.id, ...bodyOf({ nodes, edges: {}, pins: {} }, node.id)]);
}

/** Removes what has lost what it hangs on: edges without an end or across the border of a body, pins of no node, parents that are gone. */
export function pruned(graph: Graph): Graph {
  const nodes: Graph["nodes"] = {};
  for (const [id, node] of Object.entries(graph.nodes)) {
    const { parentId, ...outside } = node;
    nodes[id] = parentId === undefined || graph.nodes[parentId] ? node : outside;
  }
  const edges = Object.entries(graph.edges).filter(([, { sourceNodeId, targetNodeId }]) => {
    const [from, to] = [nodes[sourceNodeId], nodes[targetNodeId]];
    return from && to && from.parentId === to.parentId;
  });
  return { nodes, edges: Object.fromEntries(edges), pins: Object.fromEntries(Object.entries(graph.pins).filter(([id]) => nodes[id])) };
}

/** Says whether a path of edges leads from one node to another. */
export function leads({ edges }: Graph, from: string, to: string): boolean {
  const next = new Map<string, string[]>();
  for (const { sourceNodeId, targetNodeId } of Object.values(edges)) next.set(sourceNodeId, [...(next.get(sourceNodeId) ?? []), targetNodeId]);
  const seen = new Set([from]);
  for (const id of seen) {
    if (id === to) return true;
    for (const one of next.get(id) ?? []) seen.add(one);
  }
  return false;
}
