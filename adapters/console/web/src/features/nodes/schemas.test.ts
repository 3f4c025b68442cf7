import { expect, test } from "vitest";
import { readSchemas, shownSchema } from "./schemas";

test("schemas are objects, and none where nothing was typed", () => {
  const typed: Record<string, string> = { inputSchema: '{"order": {"type": "object"}}', outputSchema: "[1]" };
  expect(readSchemas((name) => typed[name])).toEqual({
    schemas: { inputSchema: { order: { type: "object" } }, outputSchema: {}, configSchema: {} },
    unreadable: ["outputSchema"],
  });
  expect(readSchemas(() => "{").unreadable).toEqual(["inputSchema", "outputSchema", "configSchema"]);
});

test("a form shows a schema on lines of its own", () => {
  expect(shownSchema({ a: { type: "string" } })).toBe('{\n  "a": {\n    "type": "string"\n  }\n}');
  expect([shownSchema({}), shownSchema(undefined)]).toEqual(["", ""]);
});
