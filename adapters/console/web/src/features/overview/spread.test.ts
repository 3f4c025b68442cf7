import { expect, test } from "vitest";
import { spread } from "./spread";

const run = (ms: number) => ({ startedAt: "2026-01-31T09:00:00.000Z", finishedAt: new Date(Date.UTC(2026, 0, 31, 9) + ms).toISOString() });

test("nothing is said of no runs", () => expect(spread([])).toEqual({ median: undefined, p95: undefined }));
test("runs that have not finished count for nothing", () =>
  expect(spread([run(5), { startedAt: "2026-01-31T09:00:00Z" }])).toEqual({ median: 5, p95: 5 }));
test("the median and the 95th are those of the sorted times", () =>
  expect(spread(Array.from({ length: 100 }, (_, at) => run(100 - at)))).toEqual({ median: 50, p95: 95 }));
