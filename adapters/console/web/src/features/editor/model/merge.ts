import { freeId, rename } from "./clip";
import { type Graph, type GraphEdge, type GraphNode, pruned, same } from "./graph";

/** A node or an edge that both sides have changed in ways that exclude each other. Who has removed it has undefined. */
export type Conflict =
  | { of: "node"; id: string; mine?: GraphNode; theirs?: GraphNode }
  | { of: "edge"; id: string; mine?: GraphEdge; theirs?: GraphEdge };

/** `unsettled` stands for a value that both sides have changed differently. */
const unsettled = Symbol("unsettled");

/** What becomes of a value with its members one by one, down to `depth`. */
function settle(base: unknown, mine: unknown, theirs: unknown, depth: number): unknown {
  if (same(mine, theirs) || same(theirs, base)) return mine;
  if (same(mine, base)) return theirs;
  if (depth === 0 || !isRecord(base) || !isRecord(mine) || !isRecord(theirs)) return unsettled;
  const made: Record<string, unknown> = {};
  for (const key of Object.keys({ ...theirs, ...mine })) {
    // Where a thing stands is no content: the last word is mine.
    const value = key === "position" ? (same(mine[key], base[key]) ? theirs[key] : mine[key]) : settle(base[key], mine[key], theirs[key], depth - 1);
    if (value === unsettled) return unsettled;
    if (value !== undefined) made[key] = value;
  }
  return made;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const moved = <T>(node: T | undefined) => node && { ...node, position: null };

/** Gives my nodes another identifier where the other side has added a node under the same one. */
function apart(base: Graph, mine: Graph, theirs: Graph): Graph {
  const taken: Record<string, unknown> = { ...mine.nodes, ...theirs.nodes };
  const names = new Map<string, string>();
  for (const [id, node] of Object.entries(mine.nodes)) {
    if (base.nodes[id] || !theirs.nodes[id] || same(node, theirs.nodes[id])) continue;
    const free = freeId(taken, id);
    taken[free] = true;
    names.set(id, free);
  }
  if (names.size === 0) return mine;
  return { ...rename(mine, names), pins: Object.fromEntries(Object.entries(mine.pins).map(([id, value]) => [names.get(id) ?? id, value])) };
}

/** Merges what two sides made of the same graph. Their independent changes stay; of a conflict it has mine. */
export function merge(base: Graph, ours: Graph, theirs: Graph): { graph: Graph; conflicts: Conflict[] } {
  const mine = apart(base, ours, theirs);
  const conflicts: Conflict[] = [];
  const part = <T>(
    of: "nodes" | "edges" | "pins",
    isRemoval: (b: T, m: T | undefined, t: T | undefined) => boolean,
    onConflict: (id: string) => void,
  ) => {
    const [b, m, t] = [base[of], mine[of], theirs[of]] as Record<string, T>[] as [Record<string, T>, Record<string, T>, Record<string, T>];
    const made: Record<string, T> = {};
    for (const id of Object.keys({ ...b, ...m, ...t })) {
      let value = settle(b[id], m[id], t[id], 2) as T | undefined | typeof unsettled;
      if (value === unsettled) {
        if (b[id] !== undefined && isRemoval(b[id], m[id], t[id])) value = undefined;
        else {
          onConflict(id);
          value = m[id];
        }
      }
      if (value !== undefined) made[id] = value as T;
    }
    return made;
  };
  /** One side has removed a node, and the other only moved it. */
  const isMoveOnly = (b: GraphNode, m?: GraphNode, t?: GraphNode) => (!m && same(moved(t), moved(b))) || (!t && same(moved(m), moved(b)));
  const never = () => false;
  const nodes = part<GraphNode>("nodes", isMoveOnly, (id) => conflicts.push({ of: "node", id, mine: mine.nodes[id], theirs: theirs.nodes[id] }));
  const edges = part<GraphEdge>("edges", never, (id) => conflicts.push({ of: "edge", id, mine: mine.edges[id], theirs: theirs.edges[id] }));
  const pins = part<unknown>("pins", never, () => {});
  // Who connects a node, or puts something into it, means it to stay.
  const needed = [
    ...Object.entries(edges).flatMap(([key, { sourceNodeId, targetNodeId }]) => (key in base.edges ? [] : [sourceNodeId, targetNodeId])),
    ...Object.values(nodes).flatMap((node) => (node.parentId && node.parentId !== base.nodes[node.id]?.parentId ? [node.parentId] : [])),
  ];
  for (const id of new Set(needed)) {
    if (!nodes[id] && !conflicts.some((one) => one.of === "node" && one.id === id)) {
      conflicts.push({ of: "node", id, mine: mine.nodes[id], theirs: theirs.nodes[id] });
    }
  }
  return { graph: pruned({ nodes, edges, pins }), conflicts };
}

export type Choice = "mine" | "theirs";

/** Gives one side what the other has of a node, with its body and its edges, or of an edge. */
function adopt(of: Graph, from: Graph, { of: kind, id }: Conflict): Graph {
  if (kind === "edge") {
    const { [id]: _, ...edges } = of.edges;
    return { ...of, edges: from.edges[id] ? { ...edges, [id]: from.edges[id] } : edges };
  }
  const isTheirs = ({ nodes }: Graph, one: string) => {
    for (let at: string | undefined = one; at; at = nodes[at]?.parentId) if (at === id) return true;
    return false;
  };
  const touches = (graph: Graph, { sourceNodeId, targetNodeId }: GraphEdge) => isTheirs(graph, sourceNodeId) || isTheirs(graph, targetNodeId);
  const some = <T>(record: Record<string, T>, keep: (key: string, value: T) => boolean) =>
    Object.fromEntries(Object.entries(record).filter(([key, value]) => keep(key, value)));
  return {
    nodes: { ...some(of.nodes, (one) => !isTheirs(of, one)), ...some(from.nodes, (one) => isTheirs(from, one)) },
    edges: { ...some(of.edges, (_, edge) => !touches(of, edge)), ...some(from.edges, (_, edge) => touches(from, edge)) },
    pins: of.pins,
  };
}

/** Merges by what somebody chose for each conflict. */
export function resolve(base: Graph, mine: Graph, theirs: Graph, conflicts: Conflict[], choose: (conflict: Conflict) => Choice): Graph {
  let [left, right] = [mine, theirs];
  for (const conflict of conflicts) {
    if (choose(conflict) === "mine") right = adopt(right, left, conflict);
    else left = adopt(left, right, conflict);
  }
  return merge(base, left, right).graph;
}
