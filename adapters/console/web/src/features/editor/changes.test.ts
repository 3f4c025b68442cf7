import { expect, test } from "vitest";
import { changesOf } from "./changes";
import type { Graph } from "./model";
import { node } from "./model/fixtures";

const graph = (nodes: Graph["nodes"], edges: Graph["edges"] = {}): Graph => ({ nodes, edges, pins: {} });

test("two versions differ in structure, configuration and texts, and not in where nodes stand", () => {
  const edge = { sourceNodeId: "a", targetNodeId: "b" };
  const before = graph(
    { a: node("a", { config: { url: "x", headers: { A: "1" } } }), b: node("b"), gone: node("gone") },
    { e: { ...edge, label: "old" } },
  );
  const after = graph(
    {
      a: node("a", { config: { url: "y", headers: { A: "1", B: "2" } }, position: { x: 9, y: 9 } }),
      b: node("b", { position: { x: 5, y: 5 } }),
      fresh: node("fresh"),
    },
    { e: { ...edge, label: "new" } },
  );
  expect(changesOf(before, after)).toEqual([
    {
      of: "node",
      name: "a",
      kind: "changed",
      members: [
        { path: "config.url", before: "x", after: "y" },
        { path: "config.headers.B", before: undefined, after: "2" },
      ],
    },
    { of: "node", name: "gone", kind: "removed", members: [] },
    { of: "node", name: "fresh", kind: "added", members: [] },
    { of: "edge", name: "a → b", kind: "changed", members: [{ path: "label", before: "old", after: "new" }] },
  ]);
  expect(changesOf(before, before)).toEqual([]);
});
