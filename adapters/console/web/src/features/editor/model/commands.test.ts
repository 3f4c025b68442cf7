import { expect, test } from "vitest";
import { clipOf, readClip, writeClip } from "./clip";
import { apply, type Command } from "./commands";
import { node } from "./fixtures";
import { edgeIdsOf, edgeKey, emptyGraph, type Graph, type GraphEdge, type GraphNode } from "./graph";

const edge = (sourceNodeId: string, targetNodeId: string, sourceOutputKey?: string): GraphEdge => ({
  sourceNodeId,
  targetNodeId,
  ...(sourceOutputKey ? { sourceOutputKey } : {}),
});
const graph = (nodes: GraphNode[], edges: GraphEdge[] = []): Graph => ({
  nodes: Object.fromEntries(nodes.map((one) => [one.id, one])),
  edges: Object.fromEntries(edges.map((one) => [edgeKey(one), one])),
  pins: {},
});
const run = (from: Graph, ...commands: Command[]) => commands.reduce(apply, from);

test("a node is added behind another one, and between two", () => {
  const behind = run(emptyGraph, { do: "add", node: node("a") }, { do: "add", node: node("c"), insertion: { after: "a", output: "true" } });
  expect(behind).toEqual(graph([node("a"), node("c")], [edge("a", "c", "true")]));
  const between = run(behind, { do: "add", node: node("b"), insertion: { edge: edgeKey(edge("a", "c", "true")) } });
  expect(between).toEqual(graph([node("a"), node("b"), node("c")], [edge("a", "b", "true"), edge("b", "c")]));
});

test("a node that goes takes its body and edges along, and its neighbours are connected", () => {
  const loop = graph([node("a"), node("loop"), node("inner", { parentId: "loop" }), node("b")], [edge("a", "loop"), edge("loop", "b")]);
  expect(run(loop, { do: "remove", nodes: ["loop"], edges: [] })).toEqual(graph([node("a"), node("b")], [edge("a", "b")]));
  expect(run(loop, { do: "remove", nodes: ["loop", "b"], edges: [] })).toEqual(graph([node("a")]));
});

test("a node that goes takes what stands before the edge behind it along", () => {
  const guarded = graph([node("a"), node("b"), node("c")], [edge("a", "b"), { ...edge("b", "c"), condition: "result > 1" }]);
  expect(run(guarded, { do: "remove", nodes: ["b"], edges: [] })).toEqual(graph([node("a"), node("c")]));
});

test("a node is not added to the body of one that is gone", () => {
  const some = graph([node("a")]);
  expect(run(some, { do: "add", node: node("b", { parentId: "gone" }) })).toBe(some);
});

test("a case that goes takes the edges of its branch along, and the later ones keep theirs", () => {
  const cases = (...when: string[]) => node("s", { type: "switch", config: { expression: "input.kind", cases: when } });
  const ends = ["a", "b", "c", "d"].map((id) => node(id));
  const all = [edge("s", "a", "case-0"), edge("s", "b", "case-1"), edge("s", "c", "case-2"), edge("s", "d", "default"), edge("a", "d", "case-2")];
  const some = graph([cases("x", "y", "z"), ...ends], all);
  const without = run(some, { do: "removeCase", node: "s", at: 1 });
  expect(without).toEqual(
    graph([cases("x", "z"), ...ends], [edge("s", "a", "case-0"), edge("s", "c", "case-1"), edge("s", "d", "default"), edge("a", "d", "case-2")]),
  );
  expect(run(without, { do: "removeCase", node: "s", at: 0 }, { do: "removeCase", node: "s", at: 0 })).toEqual(
    graph([node("s", { type: "switch", config: { expression: "input.kind" } }), ...ends], [edge("s", "d", "default"), edge("a", "d", "case-2")]),
  );
  expect(run(some, { do: "removeCase", node: "s", at: 3 })).toBe(some);
});

test("an edge that makes a circle, or crosses the border of a body, is not drawn", () => {
  const some = graph([node("a"), node("b"), node("loop"), node("inner", { parentId: "loop" })], [edge("a", "b")]);
  for (const refused of [edge("b", "a"), edge("a", "a"), edge("a", "inner"), edge("a", "b"), edge("a", "nobody")]) {
    expect(run(some, { do: "connect", edge: refused })).toBe(some);
  }
});

test("what gets into a body loses the edges that would cross its border", () => {
  const some = graph([node("a"), node("b"), node("loop")], [edge("a", "b")]);
  expect(run(some, { do: "putInto", nodes: ["b", "loop"], parentId: "loop", to: { b: { x: 20.4, y: 50 } } })).toEqual(
    graph([node("a"), node("b", { parentId: "loop", position: { x: 20, y: 50 } }), node("loop")]),
  );
});

test("a changed edge keeps its ends, and what is empty is left out", () => {
  const some = graph([node("a"), node("b")], [edge("a", "b", "true")]);
  const changed = run(some, { do: "changeEdge", edge: edgeKey(edge("a", "b", "true")), change: { sourceOutputKey: undefined, label: "always" } });
  expect(changed.edges).toEqual({ [edgeKey(edge("a", "b"))]: { ...edge("a", "b"), label: "always" } });
});

test("what is pasted has identifiers of its own, and its expressions name them", () => {
  const some = graph(
    [node("fetch"), node("sum", { config: { expression: 'nodes.fetch.body + nodes["fetch"].status + nodes.fetched' } })],
    [edge("fetch", "sum")],
  );
  const clip = readClip(writeClip(clipOf(some, ["fetch", "sum"])));
  expect(clip && run(some, { do: "paste", clip, at: { x: 40, y: 8 } })).toEqual(
    graph(
      [
        ...Object.values(some.nodes),
        node("fetch2", { name: "fetch", position: { x: 40, y: 8 } }),
        node("sum2", {
          name: "sum",
          position: { x: 40, y: 8 },
          config: { expression: 'nodes.fetch2.body + nodes["fetch2"].status + nodes.fetched' },
        }),
      ],
      [edge("fetch", "sum"), edge("fetch2", "sum2")],
    ),
  );
  for (const text of ["", "hello", "{}", '{"nodes":[{}],"edges":[]}', '{"nodes":[],"edges":[]}']) expect(readClip(text)).toBeUndefined();
});

test("an edge leads from and to another node, with all that stands on it", () => {
  const guarded = { ...edge("a", "b", "true"), condition: "result > 1", label: "large" };
  const nodes = [node("a"), node("b"), node("c"), node("inner", { parentId: "c" })];
  const some = graph(nodes, [guarded, edge("b", "c")]);
  const reconnect = (sourceNodeId: string, targetNodeId: string, sourceOutputKey?: string): Command => ({
    do: "reconnect",
    edge: edgeKey(guarded),
    to: { sourceNodeId, targetNodeId, sourceOutputKey },
  });
  expect(run(some, reconnect("a", "c", "true"))).toEqual(graph(nodes, [edge("b", "c"), { ...guarded, targetNodeId: "c" }]));
  expect(run(some, reconnect("b", "a"))).toEqual(
    graph(nodes, [edge("b", "c"), { sourceNodeId: "b", targetNodeId: "a", condition: "result > 1", label: "large" }]),
  );
  // Not to itself, in a circle, across the border of a body, to nothing, or where there is one already.
  for (const refused of [reconnect("a", "a"), reconnect("c", "b"), reconnect("a", "inner"), reconnect("a", "gone"), reconnect("b", "c")])
    expect(run(some, refused)).toBe(some);
});

test("edges are found on the server by what they connect, and those between the same ends by their order", () => {
  const edges = [edge("a", "b"), edge("a", "b"), edge("b", "c")].map((one, at) => ({ ...one, id: `edge_${at}` }));
  expect(edgeIdsOf(edges)).toEqual({
    [edgeKey(edge("a", "b"))]: "edge_0",
    [`${edgeKey(edge("a", "b"))}2`]: "edge_1",
    [edgeKey(edge("b", "c"))]: "edge_2",
  });
});
