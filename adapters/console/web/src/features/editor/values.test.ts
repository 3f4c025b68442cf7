import fc from "fast-check";
import { expect, test } from "vitest";
import { hostsIn, readNumber, readValue, textOfValue } from "./values";

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

test.each<[unknown, string[]]>([
  ["https://api.example.com/v1?x=1", ["api.example.com"]],
  ["http://127.0.0.1:8080", ["127.0.0.1:8080"]],
  ["https://{{ input.host }}/v1", []],
  ["https://user:word@example.com", []],
  ["{{ input.url }}", []],
  [undefined, []],
])("a new connection begins with the host of %j", (url, want) => expect(hostsIn(url)).toEqual(want));
