import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followTogether } from "./sharedStream";
import type { StreamEvent, StreamState } from "./stream";

type Handlers = {
  lastEventId?: string;
  onEvent: (event: StreamEvent) => void;
  onState: (state: StreamState) => void;
  onRefused: () => void;
};
const streams = vi.hoisted(() => [] as { handlers: Handlers; isOpen: boolean }[]);
vi.mock("./stream", () => ({
  follow: (_: string, handlers: Handlers) => {
    const stream = { handlers, isOpen: true };
    streams.push(stream);
    return () => {
      stream.isOpen = false;
    };
  },
}));

/** What browsers have: channels that reach everybody else at once, and locks that are given in turn. */
class Channel {
  static all = new Set<Channel>();
  onmessage: (message: { data: unknown }) => void = () => {};
  constructor() {
    Channel.all.add(this);
  }
  postMessage(data: unknown) {
    for (const one of Channel.all) if (one !== this) one.onmessage({ data });
  }
  close() {
    Channel.all.delete(this);
  }
}
let turn = Promise.resolve();
let rob = () => {};
const request = (_: string, { signal, steal }: { signal?: AbortSignal; steal?: true }, run: () => Promise<void>) => {
  if (steal) {
    rob();
    turn = run();
    return turn;
  }
  const robbed = new Promise<void>((_, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    void turn.then(() => {
      if (!signal?.aborted) rob = () => reject(new DOMException("", "AbortError"));
    });
  });
  const mine = turn.then(() => (signal?.aborted ? undefined : run()));
  turn = mine;
  return Promise.race([mine, robbed]);
};

const settle = () => new Promise((done) => setTimeout(done));
function openTab() {
  const tab = { events: [] as string[], state: undefined as StreamState | undefined, isRefused: false, close: () => {} };
  tab.close = followTogether("/stream", {
    onEvent: ({ id }) => tab.events.push(id),
    onState: (state) => {
      tab.state = state;
    },
    onRefused: () => {
      tab.isRefused = true;
    },
  });
  return tab;
}
const event = (id: string): StreamEvent => ({ id, event: "run", data: "{}" });

beforeEach(() => {
  streams.length = 0;
  Channel.all.clear();
  turn = Promise.resolve();
  vi.stubGlobal("BroadcastChannel", Channel);
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("navigator", { locks: { request } });
});
afterEach(() => vi.unstubAllGlobals());

test("one tab reads for all, and who comes later knows how the stream is", async () => {
  const tabs = [openTab(), openTab()];
  await settle();
  streams[0]?.handlers.onState("live");
  streams[0]?.handlers.onEvent(event("1"));
  const late = openTab();
  await settle();
  streams[0]?.handlers.onEvent(event("2"));
  expect(streams.length).toBe(1);
  expect([...tabs, late].map(({ events, state }) => [events, state])).toEqual([
    [["1", "2"], "live"],
    [["1", "2"], "live"],
    [["2"], "live"],
  ]);
});

test("when the tab that reads is closed, another one goes on behind the last event", async () => {
  const [first, second, third] = [openTab(), openTab(), openTab()];
  await settle();
  streams[0]?.handlers.onEvent(event("7"));
  first.close();
  await settle();
  expect(streams.map(({ isOpen, handlers }) => [isOpen, handlers.lastEventId])).toEqual([
    [false, undefined],
    [true, "7"],
  ]);
  streams[1]?.handlers.onEvent(event("8"));
  expect([first.events, second.events, third.events]).toEqual([["7"], ["7", "8"], ["7", "8"]]);
});

test("a tab that is refused keeps it to itself, and the next one tries on its own", async () => {
  const [first, second] = [openTab(), openTab()];
  await settle();
  streams[0]?.handlers.onRefused();
  streams[0]?.handlers.onState("ended");
  await settle();
  expect([first.state, first.isRefused, second.state, second.isRefused]).toEqual(["ended", true, undefined, false]);
  expect(streams.length).toBe(2);
});

test("who was closed before it was its turn reads nothing", async () => {
  const [first, second] = [openTab(), openTab()];
  await settle();
  second.close();
  first.close();
  await settle();
  expect(streams.map(({ isOpen }) => isOpen)).toEqual([false]);
});

test("when the tab that reads hangs, another one takes over, and the first waits when it wakes up", async () => {
  vi.useFakeTimers();
  try {
    const first = openTab();
    await vi.advanceTimersByTimeAsync(1);
    const hung = [...Channel.all];
    const second = openTab();
    await vi.advanceTimersByTimeAsync(25_000);
    expect(streams.length).toBe(1); // it answers
    streams[0]?.handlers.onEvent(event("3"));
    for (const one of hung) Channel.all.delete(one);
    await vi.advanceTimersByTimeAsync(25_000);
    expect(streams.map(({ isOpen, handlers }) => [isOpen, handlers.lastEventId])).toEqual([
      [false, undefined],
      [true, "3"],
    ]);
    for (const one of hung) Channel.all.add(one);
    streams[1]?.handlers.onEvent(event("4"));
    expect([first.events, second.events]).toEqual([
      ["3", "4"],
      ["3", "4"],
    ]);
  } finally {
    vi.useRealTimers();
  }
});
