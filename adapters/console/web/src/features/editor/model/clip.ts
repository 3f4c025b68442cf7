import { bodyOf, freeEdgeKey, type Graph, type GraphEdge, type GraphNode } from "./graph";

/** What is copied: nodes and the edges between them, as a file of a workflow has them. */
export type Clip = { nodes: GraphNode[]; edges: GraphEdge[] };

/** Copies nodes with their bodies. */
export function clipOf(graph: Graph, ids: string[]): Clip {
  const all = new Set(ids.flatMap((id) => [id, ...bodyOf(graph, id)]));
  return {
    nodes: Object.values(graph.nodes)
      .filter(({ id }) => all.has(id))
      .map(({ parentId, ...node }) => (parentId && all.has(parentId) ? { ...node, parentId } : node)),
    edges: Object.values(graph.edges).filter(({ sourceNodeId, targetNodeId }) => all.has(sourceNodeId) && all.has(targetNodeId)),
  };
}

export const writeClip = (clip: Clip) => JSON.stringify({ sluice: 1, ...clip }, null, 2);

/** Reads what was copied, here or elsewhere; undefined where it is something else. */
export function readClip(text: string): Clip | undefined {
  try {
    const { nodes, edges } = JSON.parse(text) as Partial<Clip>;
    if (!Array.isArray(nodes) || !Array.isArray(edges) || nodes.length === 0 || !nodes.every((node) => typeof node?.id === "string"))
      return undefined;
    return {
      nodes: nodes.map((node) => ({
        ...node,
        type: String(node.type ?? ""),
        version: String(node.version ?? ""),
        name: String(node.name ?? node.id),
        config: { ...node.config },
        inputSchema: { ...node.inputSchema },
        outputSchema: { ...node.outputSchema },
        position: { x: Number(node.position?.x) || 0, y: Number(node.position?.y) || 0 },
      })),
      edges: edges
        .filter((edge) => typeof edge?.sourceNodeId === "string" && typeof edge.targetNodeId === "string")
        .map(({ id: _, ...edge }: GraphEdge & { id?: string }) => edge),
    };
  } catch {
    return undefined;
  }
}

/** An identifier that no node has yet: "fetch", "fetch2", … */
export function freeId(taken: Record<string, unknown>, wanted: string): string {
  const stem = wanted.replace(/\d+$/, "") || "node";
  if (!(wanted in taken)) return wanted;
  let count = 2;
  while (`${stem}${count}` in taken) count++;
  return `${stem}${count}`;
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Lets texts name nodes by their new identifiers: `nodes.fetch` and `nodes["fetch"]`. */
function renamed(value: unknown, names: Map<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one, names)]));
  if (typeof value !== "string" || !value.includes("nodes")) return value;
  const some = [...names.keys()].map(escaped).join("|");
  return value
    .replaceAll(new RegExp(`\\bnodes\\.(${some})(?![\\w$])`, "g"), (_, id) => `nodes.${names.get(id)}`)
    .replaceAll(new RegExp(`\\bnodes\\[(["'])(${some})\\1\\]`, "g"), (_, quote, id) => `nodes[${quote}${names.get(id)}${quote}]`);
}

/** Gives nodes other identifiers, wherever they are named. */
export function rename<T extends Pick<Graph, "nodes" | "edges">>(graph: T, names: Map<string, string>): Pick<Graph, "nodes" | "edges"> {
  const named = (id: string) => names.get(id) ?? id;
  const made: Pick<Graph, "nodes" | "edges"> = { nodes: {}, edges: {} };
  for (const node of Object.values(graph.nodes)) {
    const config = renamed(node.config, names) as GraphNode["config"];
    made.nodes[named(node.id)] = { ...node, id: named(node.id), config, ...(node.parentId ? { parentId: named(node.parentId) } : {}) };
  }
  for (const edge of Object.values(graph.edges)) {
    const one = renamed({ ...edge, sourceNodeId: named(edge.sourceNodeId), targetNodeId: named(edge.targetNodeId) }, names) as GraphEdge;
    made.edges[freeEdgeKey(made.edges, one)] = one;
  }
  return made;
}

/** Makes what was copied fit into a graph: under identifiers of its own, its corner at a place. */
export function fitted(graph: Graph, clip: Clip, at: { x: number; y: number }, parentId?: string): Pick<Graph, "nodes" | "edges"> {
  const taken: Record<string, unknown> = { ...graph.nodes };
  const names = new Map<string, string>();
  for (const { id } of clip.nodes) {
    const free = freeId(taken, id);
    taken[free] = true;
    names.set(id, free);
  }
  const isInside = ({ parentId: old }: GraphNode) => old !== undefined && names.has(old);
  const outer = clip.nodes.filter((node) => !isInside(node)).map(({ position }) => position);
  const corner = { x: Math.min(...outer.map(({ x }) => x)), y: Math.min(...outer.map(({ y }) => y)) };
  const nodes = clip.nodes.map((node) => {
    if (isInside(node)) return node;
    const { parentId: _, ...free } = node;
    const position = { x: Math.round(node.position.x - corner.x + at.x), y: Math.round(node.position.y - corner.y + at.y) };
    return { ...free, position };
  });
  const { nodes: made, edges } = rename(
    {
      nodes: Object.fromEntries(nodes.map((node) => [node.id, node])),
      edges: Object.fromEntries(
        clip.edges.filter((edge) => names.has(edge.sourceNodeId) && names.has(edge.targetNodeId)).map((edge, n) => [n, edge]),
      ),
    },
    names,
  );
  const placed = Object.entries(made).map(([id, node]) => [id, node.parentId || !parentId ? node : { ...node, parentId }]);
  return { nodes: Object.fromEntries(placed), edges };
}
