import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follow, type StreamState } from "./stream";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Follows a stream that answers one after the other, and then never again. */
async function followed(...answers: [status: number, text: string][]) {
  const asked = vi.fn(() => {
    const answer = answers.shift();
    return answer ? Promise.resolve(new Response(answer[1] || null, { status: answer[0] })) : new Promise<Response>(() => {});
  });
  vi.stubGlobal("fetch", asked);
  const states: StreamState[] = [];
  const onRefused = vi.fn();
  const stop = follow("/stream", { onEvent: () => {}, onState: (state) => states.push(state), onRefused });
  await vi.advanceTimersByTimeAsync(30_000);
  stop();
  return { times: asked.mock.calls.length, last: states.at(-1), isRefused: onRefused.mock.calls.length > 0 };
}

const closed = (code: string, before = "") => `${before}event: closed\ndata: {"code":"${code}","message":"x"}\n\n`;

test.each<[string, [number, string], { times: number; last: StreamState; isRefused: boolean }]>([
  ["stops", [200, closed("stopping")], { times: 2, last: "waiting", isRefused: false }],
  ["fails", [200, closed("internal_error", "retry: 1500\n")], { times: 2, last: "waiting", isRefused: false }],
  ["cannot be reached", [503, ""], { times: 2, last: "waiting", isRefused: false }],
  ["knows the session no more", [200, closed("unauthenticated")], { times: 1, last: "ended", isRefused: true }],
  ["says that the run is gone", [200, closed("run_not_found")], { times: 1, last: "ended", isRefused: true }],
  ["does not let anybody in", [401, ""], { times: 1, last: "ended", isRefused: true }],
  ["has nothing left to tell", [204, ""], { times: 1, last: "ended", isRefused: false }],
])("what becomes of a stream when the gateway %s", async (_, answer, want) => expect(await followed(answer)).toEqual(want));
