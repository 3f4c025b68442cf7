import { expect, test } from "vitest";
import { filledIn, found, type Template } from "./template";

const template: Template = {
  id: "a",
  name: "Monday report",
  description: "Sends a summary",
  connections: [],
  addresses: [{ url: "https://api.example.com", description: "Yours" }],
  sample: {},
  workflows: [
    { sluice: 1, name: "Monday report", nodes: [{ id: "a", config: { url: "https://api.example.com/a" } }], edges: [] },
    { sluice: 1, name: "Called", nodes: [], edges: [] },
  ],
};

test("templates are found by every word, in any order", () => {
  expect(found([template], "")).toEqual([template]);
  expect(found([template], "summary MONDAY")).toEqual([template]);
  expect(found([template], "summary Tuesday")).toEqual([]);
});

test("addresses and the name of the main workflow are filled in", () =>
  expect(filledIn(template, "Mine", { "https://api.example.com": "https://shop.test/" })).toEqual([
    { sluice: 1, name: "Mine", nodes: [{ id: "a", config: { url: "https://shop.test/a" } }], edges: [] },
    { sluice: 1, name: "Called", nodes: [], edges: [] },
  ]));
