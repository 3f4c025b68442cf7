import { expect, test } from "vitest";
import type { Schemas } from "@/api";
import { documentOf, parseDocument } from "./document";

const workflow = { name: "Notice large orders", description: "For sales", metadata: { team: "billing" } };
const node = {
  id: "a",
  type: "transform",
  version: "1.0.0",
  name: "A",
  config: { expression: "1" },
  inputSchema: {},
  outputSchema: {},
  position: { x: 0, y: 0 },
};
const version: Pick<Schemas["WorkflowVersion"], "nodes" | "edges"> = {
  nodes: [{ ...node, canPause: false }],
  edges: [{ id: "edge_1", sourceNodeId: "a", targetNodeId: "a" }],
};

test("a file has what somebody chose and nothing that the gateway adds, and is read as it was written", () => {
  const document = documentOf(workflow, version);
  expect(document).toEqual({ sluice: 1, ...workflow, nodes: [node], edges: [{ sourceNodeId: "a", targetNodeId: "a" }] });
  expect(parseDocument(JSON.stringify(document))).toEqual(document);
});

test.each([
  ["text that is no JSON", "{", "not-json"],
  ["JSON that is no object", "null", "not-a-workflow"],
  ["a workflow without a name", '{"nodes": [], "edges": []}', "not-a-workflow"],
  ["a workflow without edges", '{"name": "A", "nodes": []}', "not-a-workflow"],
])("%s is refused", (_, text, why) => expect(parseDocument(text)).toBe(why));
