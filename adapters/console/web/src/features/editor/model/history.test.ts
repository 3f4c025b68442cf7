import { expect, test } from "vitest";
import { apply } from "./commands";
import { node } from "./fixtures";
import { historyOf, record, undo } from "./history";

const graph = { nodes: { a: node("a") }, edges: {}, pins: {} };
const moved = (x: number) => apply(graph, { do: "move", to: { a: { x, y: 0 } } });

test("presses in a row are one step, and what comes later or is of another kind is its own", () => {
  const start = historyOf(graph);
  const presses = [10, 20, 30].reduce((history, x, at) => record(history, moved(x), at * 300, "move"), start);
  expect(undo(presses).graph).toEqual(start.graph);
  expect(undo(record(presses, moved(40), 2_000, "move")).graph).toEqual(moved(30));
  expect(undo(record(presses, moved(40), 700, "name")).graph).toEqual(moved(30));
  expect(undo(record(presses, moved(40), 700)).graph).toEqual(moved(30));
});
