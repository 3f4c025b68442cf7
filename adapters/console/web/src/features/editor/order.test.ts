import fc from "fast-check";
import { expect, test } from "vitest";
import { apply, emptyGraph, type Graph } from "./model";
import { anyCommand, node } from "./model/fixtures";
import { listed } from "./order";

test("every node is listed once, behind those that lead to it, and straight behind the one that runs it", () => {
  fc.assert(
    fc.property(fc.array(anyCommand(["a", "b", "c", "d"]), { maxLength: 30 }), (commands) => {
      const graph = commands.reduce<Graph>(apply, emptyGraph);
      const list = listed(graph).map(({ node: { id } }) => id);
      expect([...list].sort()).toEqual(Object.keys(graph.nodes).sort());
      for (const { sourceNodeId, targetNodeId } of Object.values(graph.edges))
        expect(list.indexOf(sourceNodeId)).toBeLessThan(list.indexOf(targetNodeId));
      for (const { id, parentId } of Object.values(graph.nodes)) if (parentId) expect(list.indexOf(parentId)).toBeLessThan(list.indexOf(id));
    }),
  );
});

test("a branch is told to its end before the next one", () => {
  const graph: Graph = {
    nodes: Object.fromEntries(["if", "yes", "no", "later"].map((id, at) => [id, node(id, { position: { x: 0, y: at } })])),
    edges: Object.fromEntries(
      [
        ["if", "yes"],
        ["if", "no"],
        ["yes", "later"],
      ].map(([a = "", b = ""]) => [a + b, { sourceNodeId: a, targetNodeId: b }]),
    ),
    pins: {},
  };
  expect(listed(graph).map(({ node: { id } }) => id)).toEqual(["if", "yes", "later", "no"]);
});
