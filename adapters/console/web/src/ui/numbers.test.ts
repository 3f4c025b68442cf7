import { i18n } from "@lingui/core";
import { beforeEach, expect, test } from "vitest";
import { bytes, duration, number, spanOf } from "./numbers";

const speak = (locale: string) => i18n.loadAndActivate({ locale, messages: {} });
beforeEach(() => speak("en"));

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [10_485_760, "10.5 MB"],
  [999_999, "1.0 MB"],
  [5e15, "5,000 TB"],
])("%d bytes are %s", (count, want) => expect(bytes(count)).toBe(want));

test.each([
  [320.4, "320 ms"],
  [4_250, "4.3 s"],
  [59_999, "60 s"],
  [185_000, "3 min 5 s"],
  [7_260_000, "2 h 1 min"],
  [90_000_000, "1 d 1 h"],
])("%d ms are %s", (ms, want) => expect(duration(ms)).toBe(want));

test("numbers are written as the language writes them", () => {
  speak("pt");
  expect([number(12_345.67), bytes(10_485_760), duration(4_250)]).toEqual(["12.345,7", "10,5 MB", "4,3 s"]);
});

test("a span with an open end has no length", () => {
  expect(spanOf("2026-01-31T09:00:00Z", "2026-01-31T09:00:01.5Z")).toBe("1.5 s");
  expect(spanOf("2026-01-31T09:00:00Z", undefined)).toBeUndefined();
});
