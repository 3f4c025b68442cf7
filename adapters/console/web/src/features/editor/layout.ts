import { outputsOf, runsBody } from "./catalogue";
import type { Graph, GraphEdge, GraphNode } from "./model";

type Size = { width: number; height: number };
type Place = { x: number; y: number };

export const grid = 8;
export const card: Size = { width: 208, height: 56 };
export const outputHeight = 24;
/** What a container leaves free around its body. */
export const inset = { x: 24, top: 64, bottom: 24 };
export const emptyBody: Size = { width: 288, height: 160 };

/** Edges by the node that they lead from. */
export function grouped(edges: Graph["edges"]): Map<string, GraphEdge[]> {
  const groups = new Map<string, GraphEdge[]>();
  for (const edge of Object.values(edges)) {
    const group = groups.get(edge.sourceNodeId);
    if (group) group.push(edge);
    else groups.set(edge.sourceNodeId, [edge]);
  }
  return groups;
}

/** The size of each node. A node that runs others is as large as they need. */
export function sizesOf({ nodes, edges }: Graph): Map<string, Size> {
  const all = Object.values(nodes);
  const bySource = grouped(edges);
  const children = new Map<string, GraphNode[]>();
  for (const node of all) {
    if (!node.parentId) continue;
    const siblings = children.get(node.parentId);
    if (siblings) siblings.push(node);
    else children.set(node.parentId, [node]);
  }
  const sizes = new Map<string, Size>();
  const measure = (node: GraphNode): Size => {
    const known = sizes.get(node.id);
    if (known) return known;
    const outputs = runsBody(node.type) ? 0 : outputsOf(node, bySource.get(node.id) ?? []).length;
    let size: Size = { width: card.width, height: card.height + (outputs > 1 ? outputs * outputHeight + 4 : 0) };
    if (runsBody(node.type) || children.has(node.id)) {
      size = { ...emptyBody };
      for (const child of children.get(node.id) ?? []) {
        const { width, height } = measure(child);
        size.width = Math.max(size.width, child.position.x + width + inset.x);
        size.height = Math.max(size.height, child.position.y + height + inset.bottom);
      }
    }
    sizes.set(node.id, size);
    return size;
  };
  for (const node of all) measure(node);
  return sizes;
}

/** Where the handle of an output is, from the top of its node. A single one is in the middle of the node's head. */
export const outputTop = (at: number, count: number, isContainer: boolean) =>
  count > 1 && !isContainer ? card.height + at * outputHeight + outputHeight / 2 - 4 : card.height / 2 + at * outputHeight;

/** Where a node stands on the canvas; within a body, positions count from the corner of the node that runs it. */
export function placeOf({ nodes }: Graph, id: string): Place {
  let [x, y] = [0, 0];
  for (let node = nodes[id]; node; node = node.parentId ? nodes[node.parentId] : undefined) {
    x += node.position.x;
    y += node.position.y;
  }
  return { x, y };
}

/** How deep a node is in bodies. */
export function depthOf({ nodes }: Graph, id: string): number {
  let depth = 0;
  for (let at = nodes[id]?.parentId; at && depth < 9; at = nodes[at]?.parentId) depth++;
  return depth;
}

/** The innermost container at a place of the canvas, other than some nodes and what is in them. */
export function containerAt(graph: Graph, place: Place, without: string[]): string | undefined {
  const sizes = sizesOf(graph);
  const isWithin = (id: string) => {
    for (let at: string | undefined = id; at; at = graph.nodes[at]?.parentId) if (without.includes(at)) return true;
    return false;
  };
  return Object.values(graph.nodes)
    .filter(({ id, type }) => runsBody(type) && !isWithin(id))
    .filter(({ id }) => {
      const { x, y } = placeOf(graph, id);
      const { width, height } = sizes.get(id) as Size;
      return place.x >= x && place.y >= y && place.x <= x + width && place.y <= y + height;
    })
    .sort((a, b) => depthOf(graph, b.id) - depthOf(graph, a.id))[0]?.id;
}

/** A place near the wanted one where nothing stands yet. */
export function freePlace(graph: Graph, wanted: Place, parentId?: string): Place {
  const sizes = sizesOf(graph);
  const place = { x: Math.round(wanted.x / grid) * grid, y: Math.round(wanted.y / grid) * grid };
  const others = Object.values(graph.nodes).filter((node) => node.parentId === parentId);
  const overlaps = () =>
    others.some(({ id, position }) => {
      const { width, height } = sizes.get(id) as Size;
      return (
        place.x < position.x + width + grid &&
        position.x < place.x + card.width + grid &&
        place.y < position.y + height + grid &&
        position.y < place.y + card.height + grid
      );
    });
  while (overlaps()) place.y += 2 * outputHeight;
  return place;
}

/** Where a node goes that follows another one. */
export function placeBehind(graph: Graph, id: string): Place {
  const node = graph.nodes[id];
  const size = sizesOf(graph).get(id) ?? card;
  return freePlace(graph, node ? { x: node.position.x + size.width + 72, y: node.position.y } : { x: 0, y: 0 }, node?.parentId);
}
