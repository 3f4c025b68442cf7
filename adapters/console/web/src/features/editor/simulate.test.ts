import { expect, test } from "vitest";
import type { Schemas } from "@/api";
import type { Graph } from "./model";
import { node } from "./model/fixtures";
import { answerAt, answersUsed, graphStateAt, isAlike, parseJson, stepsOf, stillShown, withAnswer } from "./simulate";

type Entry = Schemas["HistoryEntry"];

const graph: Graph = {
  nodes: {
    large: node("large", { type: "condition" }),
    ask: node("ask", { type: "input" }),
    small: node("small"),
    call: node("call", { type: "httpRequest" }),
    each: node("each", { type: "forEach" }),
    inner: node("inner", { type: "httpRequest", parentId: "each" }),
    late: node("late", { type: "wait" }),
  },
  edges: {
    yes: { sourceNodeId: "large", sourceOutputKey: "true", targetNodeId: "ask" },
    no: { sourceNodeId: "large", sourceOutputKey: "false", targetNodeId: "small" },
    asked: { sourceNodeId: "ask", targetNodeId: "call" },
    fails: { sourceNodeId: "call", sourceOutputKey: "onError", targetNodeId: "each" },
    works: { sourceNodeId: "call", targetNodeId: "late" },
  },
  pins: {},
};

const entries = (...of: [Entry["type"], string?][]): Entry[] =>
  of.map(([type, nodeId], at) => ({ seq: at + 1, type, at: "2026-01-01T00:00:00.000Z", nodeId }));
const steps = stepsOf(
  entries(
    ["run.started"],
    ["node.completed", "large"],
    ["node.waiting", "ask"],
    ["node.skipped", "small"],
    ["run.paused"],
    ["run.resumed"],
    ["node.completed", "ask"],
    ["node.started", "call"],
    ["node.retrying", "call"],
    ["node.started", "call"],
    ["node.failed", "call"],
    ["node.skipped", "late"],
    ["node.waiting", "each"],
  ),
);
const ended = (nodeId: string, status: Schemas["RunNodeStatus"], branch?: string) => ({ nodeId, status, branch, attempts: 0 });
const simulation: Schemas["Simulation"] = {
  status: "paused",
  nodes: [
    ended("large", "completed", "true"),
    ended("ask", "completed"),
    ended("small", "skipped"),
    ended("call", "failed"),
    ended("each", "waiting"),
    ended("late", "skipped"),
  ],
  history: [],
  effects: ["call", "inner", "inner"].map((nodeId) => ({
    nodeId,
    type: "httpRequest",
    attempt: 1,
    at: "2026-01-01T00:00:00.000Z",
    idempotencyKey: "",
    input: {},
    config: {},
    mayRepeat: true,
  })),
  loops: [],
  open: ["inner"],
  context: { data: {}, metadata: { runId: "", entityId: "", tenantId: "", executedNodes: [] } },
};

test("what follows of itself is one step with what it follows", () => {
  expect(steps.map((step) => step.map(({ type, nodeId = "" }) => `${type} ${nodeId}`.trim()).join(", "))).toEqual([
    "run.started",
    "node.completed large",
    "node.waiting ask, node.skipped small, run.paused, run.resumed",
    "node.completed ask",
    "node.started call",
    "node.retrying call",
    "node.started call",
    "node.failed call, node.skipped late",
    "node.waiting each",
  ]);
});

test("a step shows where each node stands, and the edges that were taken", () => {
  expect(graphStateAt(graph, simulation, steps, 2)).toEqual({
    nodes: { large: "completed", ask: "waiting", small: "skipped" },
    calls: {},
    edges: { yes: true },
    current: "ask",
  });
  expect(graphStateAt(graph, simulation, steps, 8)).toEqual({
    nodes: { large: "completed", ask: "completed", small: "skipped", call: "failed", late: "skipped", each: "waiting" },
    calls: { inner: 2 },
    edges: { yes: true, asked: true, fails: true },
    current: "each",
  });
});

test("a step takes the answer for its attempt, and time takes none", () => {
  expect(steps.map((_, at) => answerAt(graph, steps, at))).toEqual([undefined, undefined, 0, undefined, 0, undefined, 1, undefined, 0]);
  expect(answerAt(graph, stepsOf(entries(["node.waiting", "late"])), 0)).toBeUndefined();
  expect([answersUsed(graph, steps, {}, "call"), answersUsed(graph, steps, { inner: [{ output: 1 }] }, "inner")]).toEqual([1, 1]);
});

test("an answer takes its place, and can be taken back", () => {
  const first = withAnswer({}, "call", 0, { error: { retryable: true } });
  const both = withAnswer(first, "call", 1, { output: 1 });
  expect(both).toEqual({ call: [{ error: { retryable: true } }, { output: 1 }] });
  expect(withAnswer(both, "call", 0, { output: 2 })).toEqual({ call: [{ output: 2 }, { output: 1 }] });
  expect(withAnswer(both, "call", 1, undefined)).toEqual(first);
  expect(withAnswer(both, "call", 0, undefined)).toEqual({});
  expect(withAnswer({}, "inner", 0, { output: 1 }, true).inner).toHaveLength(1_000);
});

test("an answer for all items is sent as often as the gateway takes it", () => {
  const large = { output: "x".repeat(10_000) };
  const all = withAnswer(withAnswer({}, "inner", 0, large, true), "call", 0, { output: 1 }, true);
  expect(JSON.stringify(all).length).toBeLessThan(900_000);
  expect(all.inner?.length).toBeGreaterThan(50);
  const many = ["a", "b", "c", "d", "e", "f", "g"].reduce((given, id) => withAnswer(given, id, 0, { output: 1 }, true), {});
  expect(Object.values(many).flat().length).toBeLessThan(5_000);
});

test("an edge with a condition is not taken for one because another one led to its node", () => {
  const joined: Graph = {
    nodes: { a: node("a"), b: node("b"), c: node("c") },
    edges: { no: { sourceNodeId: "a", targetNodeId: "c", condition: "false" }, yes: { sourceNodeId: "b", targetNodeId: "c" } },
    pins: {},
  };
  const all = stepsOf(entries(["run.started"], ["node.completed", "a"], ["node.completed", "b"], ["node.completed", "c"]));
  const nodes = ["a", "b", "c"].map((id) => ended(id, "completed"));
  expect(graphStateAt(joined, { ...simulation, nodes, effects: [] }, all, 3).edges).toEqual({ yes: true });
});

test("graphs are alike wherever their nodes stand", () => {
  const moved = { ...graph, nodes: { ...graph.nodes, small: node("small", { position: { x: 7, y: 7 } }) } };
  const renamed = { ...graph, nodes: { ...graph.nodes, small: node("small", { name: "Other" }) } };
  expect([isAlike(graph, moved), isAlike(graph, renamed)]).toEqual([true, false]);
});

test("an event is JSON, or it is none", () => {
  expect(parseJson('{"a": 1}')).toEqual({ value: { a: 1 }, isJson: true });
  expect(parseJson(" ")).toEqual({ value: {}, isJson: true });
  expect(parseJson("{a}")).toEqual({ isJson: false });
});

test("an item is not shown any more when a node that it is within is gone", () => {
  const [outer, inner] = [
    { nodeId: "small", index: 2 },
    { nodeId: "gone", index: 0 },
  ];
  expect([stillShown(graph, [outer]), stillShown(graph, [outer, inner]), stillShown(graph, undefined)]).toEqual([[outer], undefined, undefined]);
});
