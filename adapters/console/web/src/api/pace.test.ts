import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { nextWait, paced } from "./pace";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("it waits longer while changes keep coming, and not when it was quiet", () =>
  expect([nextWait(400, 10), nextWait(3_200, 10), nextWait(5_000, 10), nextWait(5_000, 2_000)]).toEqual([800, 5_000, 5_000, 400]));

test("a change is read soon, and many at most every few seconds", () => {
  const run = vi.fn();
  const { ask } = paced(run);
  ask();
  vi.advanceTimersByTime(400);
  expect(run).toHaveBeenCalledTimes(1);
  for (let at = 0; at < 600; at++) {
    ask();
    vi.advanceTimersByTime(100);
  }
  expect(run.mock.calls.length).toBeLessThan(18);
});

test("nothing is read while it is paused, and once when it goes on", () => {
  const run = vi.fn();
  const { ask, pause } = paced(run);
  ask();
  pause(true);
  vi.advanceTimersByTime(10_000);
  ask();
  expect(run).not.toHaveBeenCalled();
  pause(false);
  expect(run.mock.calls).toEqual([[true]]);
  pause(true);
  pause(false);
  expect(run).toHaveBeenCalledTimes(1);
});
