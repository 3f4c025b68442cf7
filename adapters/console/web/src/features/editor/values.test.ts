import fc from "fast-check";
import { expect, test } from "vitest";
import { readNumber, readValue, textOfValue } from "./values";

test("what is shown of a value is read as the same value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(readValue(textOfValue(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("a number is one as soon as it is written, and what is half written stays as it is", () => {
  expect(["5", "0.5", "-3", "1.", "1e", "", " 5", "x"].map(readNumber)).toEqual([5, 0.5, -3, "1.", "1e", "", " 5", "x"]);
});
