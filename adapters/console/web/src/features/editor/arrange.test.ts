import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { arrange, type TidyEdge, type TidyRequest } from "./arrange";
import { card } from "./layout";
import type { Graph } from "./model";
import { node } from "./model/fixtures";
import { tidyRequest } from "./tidy";

type Box = { x: number; y: number; width: number; height: number };

/** How often edges cross, drawn as straight lines. What begins or ends at one place does not. */
function crossings(boxes: Map<string, Box>, all: TidyEdge[]): number {
  const line = ({ from, to, fromTop }: TidyEdge) => {
    const [source, target] = [boxes.get(from) as Box, boxes.get(to) as Box];
    return [source.x + source.width, source.y + fromTop, target.x, target.y + card.height / 2] as const;
  };
  const lines = new Map(all.map((edge) => [edge, line(edge)]));
  let count = 0;
  for (const one of all) {
    const [ax, ay, bx, by] = lines.get(one) as ReturnType<typeof line>;
    const sideOf = (x: number, y: number) => Math.sign((bx - ax) * (y - ay) - (by - ay) * (x - ax));
    for (const [other, [cx, cy, dx, dy]] of lines) {
      if (other === one || Math.max(ax, cx) >= Math.min(bx, dx)) continue;
      const side = (x: number, y: number) => Math.sign((dx - cx) * (y - cy) - (dy - cy) * (x - cx));
      if (sideOf(cx, cy) * sideOf(dx, dy) < 0 && side(ax, ay) * side(bx, by) < 0) count++;
    }
  }
  return count / 2;
}

/** How many edges cross after tidying. */
function tangled(request: TidyRequest): number {
  const places = arrange(request);
  const boxes = new Map(request.nodes.map((one) => [one.id, { ...one, ...places[one.id] }]));
  const parents = new Map(request.nodes.map(({ id, parentId }) => [id, parentId]));
  // Places are within the body of a node: those of different bodies cannot be compared.
  const bodies = new Set(parents.values());
  return [...bodies].reduce(
    (sum, body) =>
      sum +
      crossings(
        boxes as Map<string, Box>,
        request.edges.filter(({ from }) => parents.get(from) === body),
      ),
    0,
  );
}

type Edge = { sourceNodeId: string; targetNodeId: string; sourceOutputKey?: string };
const graphOf = (nodes: ReturnType<typeof node>[], edges: Edge[]): Graph => ({
  nodes: Object.fromEntries(nodes.map((one) => [one.id, one])),
  edges: Object.fromEntries(edges.map((edge, at) => [`e${at}`, edge])),
  pins: {},
});

const folder = new URL("../../../../../../domain/template/files/", import.meta.url);

test.each(readdirSync(folder))("no edges of the template %s cross after tidying", (file) => {
  const { nodes, edges } = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
  const placed = nodes.map((one: Partial<Graph["nodes"][string]>) => node(one.id ?? "", one));
  expect(tangled(tidyRequest(graphOf(placed, edges)))).toBe(0);
});

test("what follows the cases of a switch stands in their order", () => {
  const targets = ["d", "b", "a", "c"]; // as they were added
  const cases = ["a", "b", "c", "d"];
  const first = node("first", { type: "switch", config: { cases: [{}, {}, {}] } });
  const edges = targets.map((id) => {
    const at = cases.indexOf(id);
    return { sourceNodeId: "first", targetNodeId: id, sourceOutputKey: at === 3 ? "default" : `case-${at}` };
  });
  const request = tidyRequest(
    graphOf([first, ...targets.map((id) => node(id)), node("end")], [...edges, ...targets.map((id) => ({ sourceNodeId: id, targetNodeId: "end" }))]),
  );
  const places = arrange(request);
  expect([...cases].sort((a, b) => (places[a]?.y ?? 0) - (places[b]?.y ?? 0))).toEqual(cases);
  expect(tangled(request)).toBe(0);
});

test("nodes do not lie over each other, however high they are", () => {
  const nodes = [
    node("first", { type: "switch", config: { cases: [{}, {}] } }),
    node("high", { type: "switch", config: { cases: [{}, {}, {}] } }),
    node("low"),
    node("last"),
  ];
  const request = tidyRequest(
    graphOf(nodes, [
      { sourceNodeId: "first", targetNodeId: "last", sourceOutputKey: "default" },
      { sourceNodeId: "first", targetNodeId: "high", sourceOutputKey: "case-1" },
      { sourceNodeId: "first", targetNodeId: "low", sourceOutputKey: "case-0" },
    ]),
  );
  const places = arrange(request);
  const rows = request.nodes
    .filter(({ id }) => id !== "first")
    .map(({ id, height }) => [places[id]?.y ?? 0, height] as const)
    .sort(([a], [b]) => a - b);
  expect(rows.every(([y, height], at) => at + 1 === rows.length || y + height <= (rows[at + 1]?.[0] ?? 0))).toBe(true);
  expect(tangled(request)).toBe(0);
});
