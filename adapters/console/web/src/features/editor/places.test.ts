import { Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { isInExpression, offsetOf, positionOf } from "./places";

test("places are counted in code points, as the server counts them", () => {
  const doc = Text.of(["a😀b", "", "ñ.x"]);
  const all = Array.from({ length: doc.length + 1 }, (_, at) => at).filter((at) => at !== 2); // in the middle of the emoji
  expect(all.map((at) => offsetOf(doc, positionOf(doc, at)))).toEqual(all);
  expect(positionOf(doc, 3)).toEqual({ line: 1, column: 3 });
  expect(offsetOf(doc, { line: 9, column: 9 })).toBe(doc.length);
});

test("expressions of a template are known by their braces", () =>
  expect(["", "Dear {{", "Dear {{ input.na", "Dear {{ input.name }}", "{{ a }} and {{ b", "} } {"].map(isInExpression)).toEqual([
    false,
    true,
    true,
    false,
    true,
    false,
  ]));
