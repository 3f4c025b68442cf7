import { expect, test } from "vitest";
import type { Entry } from "./history";
import { spansOf } from "./spans";

const begin = Date.UTC(2026, 0, 31, 9);
const entry = (ms: number, type: Entry["type"], nodeId?: string): Entry => ({ seq: 1, type, nodeId, at: new Date(begin + ms).toISOString() });

test("attempts, retries and pauses are stretches, and what has no effect outside is an instant", () => {
  const spans = spansOf(
    [
      entry(0, "run.started"),
      entry(1, "node.completed", "condition"),
      entry(2, "node.started", "call"),
      entry(5, "node.retrying", "call"),
      entry(9, "node.started", "call"),
      entry(12, "node.completed", "call"),
      entry(13, "node.waiting", "approve"),
    ],
    begin,
    begin + 20,
  );
  expect(Object.fromEntries(spans)).toEqual({
    condition: [{ kind: "attempt", from: 1, to: 1, hasFailed: false }],
    call: [
      { kind: "attempt", from: 2, to: 5, hasFailed: true },
      { kind: "retry", from: 5, to: 9, hasFailed: false },
      { kind: "attempt", from: 9, to: 12, hasFailed: false },
    ],
    approve: [{ kind: "pause", from: 13, to: 20, hasFailed: false }],
  });
});
