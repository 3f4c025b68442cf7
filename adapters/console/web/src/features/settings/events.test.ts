import { expect, test } from "vitest";
import { linesOf, readLines } from "./events";

test("names of events are lines, and what is read of them is the same", () => {
  const events = [{ name: "order.paid", label: "An order was paid" }, { name: "order.sent" }];
  expect(linesOf(events)).toBe("order.paid An order was paid\norder.sent");
  expect(readLines(linesOf(events))).toEqual(events);
});

test("spaces and empty lines are left out", () =>
  expect(readLines("\n  order.paid \t An order was paid  \r\n\n order.sent\n")).toEqual([
    { name: "order.paid", label: "An order was paid" },
    { name: "order.sent" },
  ]));
