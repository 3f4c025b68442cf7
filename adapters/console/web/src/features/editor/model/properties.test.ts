import fc from "fast-check";
import { expect, test } from "vitest";
import { apply, type Command } from "./commands";
import { anyCommand } from "./fixtures";
import { bodyOf, emptyGraph, type Graph, leads, same } from "./graph";
import { historyOf, record, redo, undo } from "./history";
import { merge, resolve } from "./merge";

const run = (from: Graph, commands: Command[]) => commands.reduce(apply, from);
const left = anyCommand(["a", "b", "c", "d"]);
const right = anyCommand(["p", "q", "r", "s"]);
const list = (of: fc.Arbitrary<Command>) => fc.array(of, { maxLength: 25 });

/** What the server refuses to save. */
function violations(graph: Graph): string[] {
  const { nodes, edges, pins } = graph;
  return [
    ...Object.entries(edges).flatMap(([key, { sourceNodeId: from, targetNodeId: to }]) => {
      if (!nodes[from] || !nodes[to]) return [`${key} dangles`];
      if (nodes[from]?.parentId !== nodes[to]?.parentId) return [`${key} crosses a border`];
      return from === to || leads(graph, to, from) ? [`${key} is in a circle`] : [];
    }),
    ...Object.values(nodes).flatMap(({ id, parentId }) => (parentId && !nodes[parentId] ? [`${id} is in no node`] : [])),
    ...Object.keys(nodes).flatMap((id) => (nodes[id]?.id === id ? [] : [`${id} has another identifier`])),
    ...Object.keys(pins).flatMap((id) => (nodes[id] ? [] : [`a pin of ${id}, which is gone`])),
  ];
}

test("whatever commands do, the graph can be saved", () => {
  fc.assert(
    fc.property(list(left), (commands) => {
      const graph = run(emptyGraph, commands);
      expect(violations(graph)).toEqual([]);
      for (const id of Object.keys(graph.nodes)) expect(bodyOf(graph, id)).not.toContain(id);
    }),
  );
});

test("undoing everything leads back to the beginning, and redoing it to the end", () => {
  fc.assert(
    fc.property(list(left), list(left), (before, commands) => {
      const start = run(emptyGraph, before);
      let history = historyOf(start);
      commands.forEach((command, at) => {
        history = record(history, apply(history.graph, command), at * 5_000);
      });
      const end = history.graph;
      while (history.past.length > 0) history = undo(history);
      expect(history.graph).toBe(start);
      while (history.future.length > 0) history = redo(history);
      expect(history.graph).toBe(end);
    }),
  );
});

test("undoing takes back one's own changes, and leaves what others did meanwhile", () => {
  const step = fc.oneof(
    left.map((command) => ({ by: "me" as const, command })),
    right.map((command) => ({ by: "others" as const, command })),
    fc.constantFrom({ by: "undo" as const }, { by: "redo" as const }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let history = historyOf(emptyGraph);
      let server = emptyGraph; // what others see: their changes alone
      steps.forEach((one, at) => {
        if (one.by === "me") history = record(history, apply(history.graph, one.command), at * 5_000);
        if (one.by === "undo") history = undo(history);
        if (one.by === "redo") history = redo(history);
        if (one.by === "others") {
          const next = apply(server, one.command);
          history = { ...history, graph: merge(server, history.graph, next).graph };
          server = next;
        }
      });
      while (history.past.length > 0) history = undo(history);
      expect(same(history.graph, server)).toBe(true);
    }),
  );
});

test("a merge of independent changes has them all, whoever merges", () => {
  fc.assert(
    fc.property(list(left), list(right), list(left), list(right), (a, b, mine, theirs) => {
      const base = run(run(emptyGraph, a), b);
      const [m, t] = [run(base, mine), run(base, theirs)];
      const { graph, conflicts } = merge(base, m, t);
      expect(conflicts).toEqual([]);
      expect(graph).toEqual(run(m, theirs));
      expect(merge(base, t, m).graph).toEqual(graph);
      expect(merge(base, m, base).graph).toEqual(m);
    }),
  );
});

test("whatever both sides do, the choice of one side for all conflicts leaves none, and nothing dangles", () => {
  fc.assert(
    fc.property(list(left), list(left), list(left), fc.constantFrom("mine" as const, "theirs" as const), (before, mine, theirs, choice) => {
      const base = run(emptyGraph, before);
      const [m, t] = [run(base, mine), run(base, theirs)];
      const { conflicts } = merge(base, m, t);
      const merged = resolve(base, m, t, conflicts, () => choice);
      expect(violations(merged).filter((one) => !one.endsWith("circle"))).toEqual([]); // who made a circle together is told by the server
    }),
  );
});
