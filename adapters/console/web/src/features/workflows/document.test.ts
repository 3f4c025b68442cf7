import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { documentOf, nodesOf, parseDocument, type WorkflowDocument } from "./document";
import { printed } from "./file";

const workflow = { name: "Notice large orders", description: "For sales", metadata: { team: "billing" }, isActive: true };
const node = {
  id: "a",
  type: "transform",
  version: "1.0.0",
  name: "A",
  canPause: false,
  config: { expression: "1", connection: "conn_1" },
  inputSchema: {},
  outputSchema: {},
  position: { x: 0, y: 0 },
};
const code = { ...node, id: "b", type: "code", config: { source: "let a = 1;\nreturn a;" }, position: { x: 280, y: 0 } };
const version = { isActive: true, nodes: [node, code], edges: [{ id: "edge_1", sourceNodeId: "a", targetNodeId: "b", label: "" }] };
const trigger = { id: "trg_1", name: "T", type: "webhook" as const, isActive: false, metadata: {}, config: {} };

test("a file has what somebody chose, names in place of identifiers, and nothing that the gateway adds", () => {
  const document = documentOf(workflow, version, [trigger], new Map([["conn_1", { kind: "$connection", name: "Our API" }]]));
  expect(document).toEqual({
    sluice: 1,
    name: "Notice large orders",
    description: "For sales",
    metadata: { team: "billing" },
    triggers: [{ name: "T", type: "webhook", isActive: false }],
    nodes: [
      { id: "a", type: "transform", version: "1.0.0", name: "A", config: { expression: "1", connection: { $connection: "Our API" } } },
      { id: "b", type: "code", version: "1.0.0", name: "A", position: { x: 280, y: 0 }, config: { source: ["let a = 1;", "return a;"] } },
    ],
    edges: [{ sourceNodeId: "a", targetNodeId: "b" }],
  });
  expect(parseDocument(printed(document))).toEqual(document);
  expect(nodesOf(document)[1]?.config).toEqual(code.config);
});

test("what was never published says so", () => expect(documentOf(workflow, undefined)).toMatchObject({ draft: true, nodes: [], edges: [] }));

// The same files are read and written by the command.
const root = new URL("../../../../../../", import.meta.url);
const files = ["domain/template/files/", "cmd/sluice/testdata/workflows/"].flatMap((folder) =>
  readdirSync(new URL(folder, root)).map((name) => new URL(folder + name, root)),
);
test.each(files.map((file) => [file.pathname.split("/").at(-1), file] as const))("%s is written as it was read", (name, file) => {
  const text = readFileSync(file, "utf8");
  // 1.50 is the same number for JavaScript as 1.5.
  expect(printed(parseDocument(text) as WorkflowDocument)).toBe(name === "notify-people.json" ? text.replace("1.50", "1.5") : text);
});

test.each([
  ["text that is no JSON", "{", "not-json"],
  ["JSON that is no object", "null", "not-a-workflow"],
  ["a workflow without a name", '{"nodes": [], "edges": []}', "not-a-workflow"],
  ["a workflow without edges", '{"name": "A", "nodes": []}', "not-a-workflow"],
  ["a node that is no object", '{"name": "A", "nodes": [1], "edges": []}', "not-a-workflow"],
])("%s is refused", (_, text, why) => expect(parseDocument(text)).toBe(why));
