import { expect, test } from "vitest";
import { placed } from "./layout";

const node = (id: string, x = 0, y = 0) => ({ id, position: { x, y } }) as Parameters<typeof placed>[0]["nodes"][number];
const edge = (sourceNodeId: string, targetNodeId: string) => ({ sourceNodeId, targetNodeId }) as Parameters<typeof placed>[0]["edges"][number];
const where = (version: Parameters<typeof placed>[0]) =>
  Object.fromEntries(placed(version).map((one) => [one.node.id, [one.position.x, one.position.y]]));

test("nodes stay where somebody put them", () => {
  expect(where({ nodes: [node("a"), node("b", 10, 20)], edges: [edge("a", "b")] })).toEqual({ a: [0, 0], b: [10, 20] });
});

test("nodes at the same place stand in columns, behind what leads to them", () => {
  const nodes = [node("a"), node("yes"), node("no"), node("end")];
  const edges = [edge("a", "yes"), edge("a", "no"), edge("no", "end"), edge("yes", "end")];
  expect(where({ nodes, edges })).toEqual({ a: [0, 0], yes: [280, 0], no: [280, 110], end: [560, 0] });
});

test("a circle ends", () => {
  expect(Object.keys(where({ nodes: [node("a"), node("b")], edges: [edge("a", "b"), edge("b", "a")] }))).toEqual(["a", "b"]);
});
