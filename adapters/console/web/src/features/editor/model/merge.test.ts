import { expect, test } from "vitest";
import { node } from "./fixtures";
import { edgeKey, type Graph, type GraphNode } from "./graph";
import { merge, resolve } from "./merge";

const edge = (sourceNodeId: string, targetNodeId: string) => ({ sourceNodeId, targetNodeId });
const graph = (nodes: GraphNode[], edges: ReturnType<typeof edge>[] = []): Graph => ({
  nodes: Object.fromEntries(nodes.map((one) => [one.id, one])),
  edges: Object.fromEntries(edges.map((one) => [edgeKey(one), one])),
  pins: {},
});
const at = (x: number) => ({ position: { x, y: 0 } });

test("independent changes of both sides stay, within a node, too", () => {
  const base = graph([node("a", { config: { url: "1", method: "GET" } }), node("b"), node("gone")], [edge("a", "b")]);
  const mine = graph([node("a", { config: { url: "2", method: "GET" } }), node("b", at(5)), node("mine")], [edge("a", "b"), edge("b", "mine")]);
  const theirs = graph([node("a", { config: { url: "1", method: "PUT" }, name: "A" }), node("b", at(9)), node("gone", at(3)), node("theirs")]);
  expect(merge(base, mine, theirs)).toEqual({
    graph: graph(
      [node("a", { config: { url: "2", method: "PUT" }, name: "A" }), node("b", at(5)), node("mine"), node("theirs")],
      [edge("b", "mine")],
    ),
    conflicts: [],
  });
});

test("two nodes that were added under one name are both kept", () => {
  const mine = graph([node("a"), node("new", { name: "mine" })], [edge("a", "new")]);
  const theirs = graph([node("a"), node("new", { name: "theirs" })]);
  expect(merge(graph([node("a")]), mine, theirs)).toEqual({
    graph: graph([node("a"), node("new", { name: "theirs" }), node("new2", { name: "mine" })], [edge("a", "new2")]),
    conflicts: [],
  });
});

test("changes that exclude each other are named by node, and a person chooses", () => {
  const base = graph([node("a"), node("b"), node("c")], [edge("a", "b"), edge("b", "c")]);
  const mine = graph([node("a", { name: "mine" }), node("c")]);
  const theirs = graph([node("a", { name: "theirs" }), node("b", { name: "theirs" }), node("c", { name: "C" })], [edge("a", "b"), edge("b", "c")]);
  const { conflicts } = merge(base, mine, theirs);
  expect(conflicts).toEqual([
    { of: "node", id: "a", mine: mine.nodes.a, theirs: theirs.nodes.a },
    { of: "node", id: "b", mine: undefined, theirs: theirs.nodes.b },
  ]);
  expect(resolve(base, mine, theirs, conflicts, () => "mine")).toEqual(graph([node("a", { name: "mine" }), node("c", { name: "C" })]));
  expect(resolve(base, mine, theirs, conflicts, () => "theirs")).toEqual(theirs);
});

test("a node that one side removes and the other connects is a conflict", () => {
  const base = graph([node("a"), node("b")]);
  const mine = graph([node("a")]);
  const theirs = graph([node("a"), node("b")], [edge("a", "b")]);
  const { conflicts } = merge(base, mine, theirs);
  expect(conflicts).toEqual([{ of: "node", id: "b", mine: undefined, theirs: node("b") }]);
  expect(resolve(base, mine, theirs, conflicts, () => "theirs")).toEqual(theirs);
  expect(resolve(base, mine, theirs, conflicts, () => "mine")).toEqual(mine);
});
