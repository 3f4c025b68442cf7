import type { Graph, GraphNode } from "./model";

/** A node in the order in which runs come to it, and how deep it is in bodies. */
export type Listed = { node: GraphNode; depth: number };

/** The nodes as a list: each behind all that lead to it, and what a node runs straight behind it. */
export function listed({ nodes, edges }: Graph): Listed[] {
  const children = new Map<string | undefined, GraphNode[]>();
  for (const node of Object.values(nodes)) children.set(node.parentId, [...(children.get(node.parentId) ?? []), node]);
  const waitsFor = new Map<string, number>();
  const next = new Map<string, string[]>();
  for (const { sourceNodeId, targetNodeId } of Object.values(edges)) {
    waitsFor.set(targetNodeId, (waitsFor.get(targetNodeId) ?? 0) + 1);
    next.set(sourceNodeId, [...(next.get(sourceNodeId) ?? []), targetNodeId]);
  }
  const made: Listed[] = [];
  const walk = (parentId: string | undefined, depth: number) => {
    const members = [...(children.get(parentId) ?? [])].sort((a, b) => a.position.y - b.position.y);
    const place = new Map(members.map(({ id }, at) => [id, at]));
    const ready = members.filter(({ id }) => !waitsFor.get(id));
    for (let node = ready.shift(); node; node = ready.shift()) {
      made.push({ node, depth });
      walk(node.id, depth + 1);
      const freed = (next.get(node.id) ?? []).filter((id) => {
        const left = (waitsFor.get(id) ?? 0) - 1;
        waitsFor.set(id, left);
        return left === 0;
      });
      freed.sort((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0));
      ready.unshift(...freed.flatMap((id) => nodes[id] ?? []));
    }
  };
  walk(undefined, 0);
  return made;
}
