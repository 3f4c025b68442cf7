import { type Clip, fitted } from "./clip";
import { bodyOf, edgeKey, freeEdgeKey, type Graph, type GraphEdge, type GraphNode, leads, pruned } from "./graph";

type Place = { x: number; y: number };
export type NodeChange = Partial<Pick<GraphNode, "name" | "description" | "config" | "retryPolicy" | "timeoutMs">>;
export type EdgeChange = Partial<Pick<GraphEdge, "condition" | "label" | "sourceOutputKey" | "targetInputKey">>;
/** Where an edge begins and ends. */
export type Ends = Pick<GraphEdge, "sourceNodeId" | "sourceOutputKey" | "targetNodeId">;
/** Where a new node is connected: behind a node, or between the two of an edge. */
export type Insertion = { after: string; output?: string } | { edge: string };

/** Everything that a person can do to a graph, by mouse, by keys or by a form. */
export type Command =
  | { do: "add"; node: GraphNode; insertion?: Insertion }
  | { do: "remove"; nodes: string[]; edges: string[] }
  | { do: "move"; to: Record<string, Place> }
  | { do: "connect"; edge: GraphEdge }
  | { do: "changeEdge"; edge: string; change: EdgeChange }
  /** Leads an edge from or to another node. */
  | { do: "reconnect"; edge: string; to: Ends }
  | { do: "change"; node: string; change: NodeChange }
  /** Takes a case from a "switch", whose branches are counted. */
  | { do: "removeCase"; node: string; at: number }
  | { do: "putInto"; nodes: string[]; parentId: string | undefined; to: Record<string, Place> }
  | { do: "paste"; clip: Clip; at: Place; parentId?: string }
  | { do: "pin"; node: string; value: unknown };

const whole = ({ x, y }: Place) => ({ x: Math.round(x), y: Math.round(y) });
/** Leaves out what is undefined. */
const given = <T extends object>(of: T) => Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as T;

/** Says why an edge cannot be drawn. */
export function refusal(graph: Graph, { sourceNodeId, targetNodeId }: GraphEdge): "self" | "border" | "circle" | undefined {
  if (sourceNodeId === targetNodeId) return "self";
  if (graph.nodes[sourceNodeId]?.parentId !== graph.nodes[targetNodeId]?.parentId) return "border";
  return leads(graph, targetNodeId, sourceNodeId) ? "circle" : undefined;
}

function connect(graph: Graph, edge: GraphEdge): Graph {
  if (!graph.nodes[edge.sourceNodeId] || !graph.nodes[edge.targetNodeId] || refusal(graph, edge)) return graph;
  const kept = given(edge);
  const key = freeEdgeKey({}, kept);
  return key in graph.edges ? graph : { ...graph, edges: { ...graph.edges, [key]: kept } };
}

function add(graph: Graph, node: GraphNode, insertion?: Insertion): Graph {
  if (node.id in graph.nodes || (node.parentId !== undefined && !graph.nodes[node.parentId])) return graph;
  const next = { ...graph, nodes: { ...graph.nodes, [node.id]: { ...given(node), position: whole(node.position) } } };
  if (!insertion) return next;
  if ("after" in insertion) return connect(next, { sourceNodeId: insertion.after, targetNodeId: node.id, sourceOutputKey: insertion.output });
  const { [insertion.edge]: old, ...edges } = next.edges;
  if (!old) return next;
  const { targetInputKey, targetNodeId, ...before } = old;
  const first = connect({ ...next, edges }, { ...before, targetNodeId: node.id });
  return connect(first, { sourceNodeId: node.id, targetNodeId, targetInputKey });
}

/** Takes away nodes with their bodies and edges. Where one node between two others goes, the two are connected. */
function remove(graph: Graph, ids: string[], edgeKeys: string[]): Graph {
  const gone = new Set(ids.flatMap((id) => [id, ...bodyOf(graph, id)]));
  const edges = Object.fromEntries(Object.entries(graph.edges).filter(([key]) => !edgeKeys.includes(key)));
  const nodes = Object.fromEntries(Object.entries(graph.nodes).filter(([id]) => !gone.has(id)));
  const next = pruned({ ...graph, nodes, edges });
  const [only] = ids;
  if (ids.length !== 1 || edgeKeys.length > 0 || !only) return next;
  const into = Object.values(graph.edges).filter(({ targetNodeId }) => targetNodeId === only);
  const out = Object.values(graph.edges).filter(({ sourceNodeId }) => sourceNodeId === only);
  const [before, after] = [into[0], out[0]];
  if (into.length !== 1 || out.length !== 1 || !before || !after || after.sourceOutputKey || after.condition) return next;
  return connect(next, { ...before, targetNodeId: after.targetNodeId, targetInputKey: after.targetInputKey });
}

function changeNodes(graph: Graph, ids: string[], change: (node: GraphNode) => GraphNode): Graph {
  const changed = ids.flatMap((id) => graph.nodes[id] ?? []).map((node) => [node.id, given(change(node))]);
  return changed.length === 0 ? graph : { ...graph, nodes: { ...graph.nodes, ...Object.fromEntries(changed) } };
}

function changeEdge(graph: Graph, key: string, change: EdgeChange): Graph {
  const old = graph.edges[key];
  if (!old) return graph;
  const edge = given({ ...old, ...change });
  const others = without(graph.edges, key);
  return { ...graph, edges: { ...others, [freeEdgeKey(others, edge)]: edge } };
}

const without = (edges: Graph["edges"], key: string) => Object.fromEntries(Object.entries(edges).filter(([one]) => one !== key));

/** Says whether an edge can lead from and to other nodes. */
export function canReconnect(graph: Graph, key: string, to: Ends): boolean {
  const [old, from, end] = [graph.edges[key], graph.nodes[to.sourceNodeId], graph.nodes[to.targetNodeId]];
  if (!old || !from || !end) return false;
  const others = without(graph.edges, key);
  return !refusal({ ...graph, edges: others }, to) && !(edgeKey({ ...old, ...to }) in others);
}

function reconnect(graph: Graph, key: string, to: Ends): Graph {
  if (!canReconnect(graph, key, to)) return graph;
  const edge = given({ ...graph.edges[key], ...to });
  return { ...graph, edges: { ...without(graph.edges, key), [edgeKey(edge)]: edge } };
}

/** Takes a case from a node, with the edges of its branch. Those of the later cases follow them. */
function removeCase(graph: Graph, id: string, at: number): Graph {
  const node = graph.nodes[id];
  const { cases, ...config } = node?.config ?? {};
  if (!node || !Array.isArray(cases) || !(at in cases)) return graph;
  const left = cases.filter((_, place) => place !== at);
  const edges: Graph["edges"] = {};
  for (const [key, edge] of Object.entries(graph.edges)) {
    const branch = edge.sourceNodeId === id ? Number(edge.sourceOutputKey?.match(/^case-(\d+)$/)?.[1] ?? -1) : -1;
    const moved = { ...edge, sourceOutputKey: `case-${branch - 1}` };
    if (branch < at) edges[key] = edge;
    else if (branch > at) edges[freeEdgeKey(edges, moved)] = moved;
  }
  return { ...changeNodes(graph, [id], () => ({ ...node, config: left.length > 0 ? { ...config, cases: left } : config })), edges };
}

/** Puts nodes into the body of another one, or out of it. A node does not get into its own body. */
function putInto(graph: Graph, ids: string[], parentId: string | undefined, to: Record<string, Place>): Graph {
  if (parentId !== undefined && !graph.nodes[parentId]) return graph;
  const movable = ids.filter((id) => id !== parentId && (parentId === undefined || !bodyOf(graph, id).includes(parentId)));
  return pruned(changeNodes(graph, movable, (node) => ({ ...node, parentId, position: whole(to[node.id] ?? node.position) })));
}

/** Does what a person asks for. What cannot be done changes nothing. */
export function apply(graph: Graph, command: Command): Graph {
  switch (command.do) {
    case "add":
      return add(graph, command.node, command.insertion);
    case "remove":
      return remove(graph, command.nodes, command.edges);
    case "move":
      return changeNodes(graph, Object.keys(command.to), (node) => ({ ...node, position: whole(command.to[node.id] ?? node.position) }));
    case "connect":
      return connect(graph, command.edge);
    case "changeEdge":
      return changeEdge(graph, command.edge, command.change);
    case "reconnect":
      return reconnect(graph, command.edge, command.to);
    case "change":
      return changeNodes(graph, [command.node], (node) => ({ ...node, ...command.change }));
    case "removeCase":
      return removeCase(graph, command.node, command.at);
    case "putInto":
      return putInto(graph, command.nodes, command.parentId, command.to);
    case "paste": {
      const clip = fitted(graph, command.clip, command.at, command.parentId);
      return pruned({ ...graph, nodes: { ...graph.nodes, ...clip.nodes }, edges: { ...graph.edges, ...clip.edges } });
    }
    case "pin": {
      const { [command.node]: _, ...others } = graph.pins;
      if (!graph.nodes[command.node]) return graph;
      return { ...graph, pins: command.value === undefined ? others : { ...others, [command.node]: command.value } };
    }
  }
}
