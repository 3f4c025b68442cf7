import type { Schemas } from "@/api";

type Version = Pick<Schemas["WorkflowVersion"], "nodes" | "edges">;
type Placed = { node: Version["nodes"][number]; position: { x: number; y: number } };

/** Where the nodes of a version stand: where somebody put them, or, when two are at the same place, in columns, each behind those that lead to it. */
export function placed({ nodes, edges }: Version): Placed[] {
  const taken = new Set(nodes.map(({ position: { x, y } }) => `${x} ${y}`));
  if (taken.size === nodes.length) return nodes.map((node) => ({ node, position: node.position }));
  const columns = new Map(nodes.map(({ id }) => [id, 0]));
  // Each pass settles one more column; a graph has no longer way than it has nodes.
  for (let pass = 0, isMoving = true; isMoving && pass < nodes.length; pass++) {
    isMoving = false;
    for (const { sourceNodeId, targetNodeId } of edges) {
      const behind = (columns.get(sourceNodeId) ?? 0) + 1;
      if (behind <= (columns.get(targetNodeId) ?? behind)) continue;
      columns.set(targetNodeId, behind);
      isMoving = true;
    }
  }
  const rows = new Map<number, number>();
  return nodes.map((node) => {
    const column = columns.get(node.id) ?? 0;
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    return { node, position: { x: column * 280, y: row * 110 } };
  });
}
