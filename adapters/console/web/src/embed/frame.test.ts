import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { edit, emptyGraph, type Server } from "@/features/editor/model";
import { node } from "@/features/editor/model/fixtures";
import type { ToFrame } from "../../../../httpapi/client/typescript/src/editor";

vi.hoisted(() => {
  Object.assign(globalThis, {
    document: { querySelector: () => null },
    location: new URL("https://gateway.example/embed/tenant_1"),
    addEventListener: () => {},
  });
});
vi.mock("./theme", () => ({ applyTheme: () => {} }));
const { newFrame } = await import("./frame");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

type Trouble = "signedOut" | "unreachable" | undefined;

/** A frame that a page shows, with an editor of a draft in it. */
function harness() {
  const events: [string, object][] = [];
  const done = new Map<number, string | undefined>();
  let made = 0;
  const gateway = { takes: true, asked: [] as string[] };
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    gateway.asked.push(new URL(url).pathname);
    if (!gateway.takes) return new Response('{"code":"unauthenticated","message":"no"}', { status: 401 });
    if (url.endsWith("/stream")) return new Response(new ReadableStream());
    return new Response("{}");
  });
  const host = {
    say: (message: { say: string; id?: number; error?: string }) => void (message.say === "done" && done.set(message.id as number, message.error)),
    tell: (name: string, detail: object) => void events.push([name, detail]),
    askToken: async () => ({
      token: `ek_${++made}`,
      permissions: ["workflows:write", "runs:read"],
      expiresAt: new Date(Date.now() + 900_000).toISOString(),
    }),
  };
  const frame = newFrame();
  const hear = (message: object) => frame.hear(message as Exclude<ToFrame, { do: "token" }>, host);
  const open = (workflowId: string, isReadOnly = false) => hear({ do: "open", workflowId, isReadOnly, theme: {} });

  const stored = { graph: emptyGraph, trouble: undefined as Trouble };
  const server: Server = {
    read: async () => ({ versionId: "v1", etag: "1", graph: stored.graph }),
    write: async (graph) => {
      if (stored.trouble) throw stored.trouble;
      stored.graph = graph;
      return { versionId: "v1", etag: "1", graph };
    },
    refusalOf: (failure) => failure as "signedOut",
  };
  const editing = edit(server, { versionId: "v1", etag: "1", graph: emptyGraph });
  const publish = vi.fn(async () => {});
  const change = () => editing.run({ do: "add", node: node("a") });
  return {
    frame,
    hear,
    open,
    events,
    done,
    gateway,
    stored,
    editing,
    publish,
    change,
    attach: (workflowId: string) => frame.attach({ workflowId, editing, publish }),
  };
}
const address = (workflowId: string) => `/t/embedded/workflows/${workflowId}/editor`;

test("an editor becomes read-only once its changes are saved, and stays as it was where they cannot be", async () => {
  const { frame, open, attach, change, stored, events, editing } = harness();
  open("wf_1");
  attach("wf_1");
  stored.trouble = "unreachable";
  change();
  open("wf_1", true);
  await vi.advanceTimersByTimeAsync(0);
  expect(frame.store.getState().isReadOnly).toBe(false);
  expect(events).toContainEqual(["error", expect.objectContaining({ code: "readonly" })]);
  stored.trouble = undefined;
  open("wf_1", true);
  await vi.advanceTimersByTimeAsync(0);
  expect([frame.store.getState().isReadOnly, stored.graph]).toEqual([true, editing.store.getState().history.graph]);
});

test("what is not saved because the access has ended is saved with the next token", async () => {
  const { open, attach, change, stored, editing } = harness();
  open("wf_1");
  attach("wf_1");
  await vi.advanceTimersByTimeAsync(0);
  stored.trouble = "signedOut";
  change();
  await editing.flush();
  stored.trouble = undefined;
  await vi.advanceTimersByTimeAsync(719_000);
  expect(editing.store.getState().save).toBe("signedOut");
  await vi.advanceTimersByTimeAsync(1_000);
  expect([editing.store.getState().save, stored.graph]).toEqual(["saved", editing.store.getState().history.graph]);
});

test("a stream that was refused begins again with the next token", async () => {
  const { frame, open, gateway } = harness();
  open("wf_1");
  await vi.advanceTimersByTimeAsync(0);
  gateway.takes = false;
  const states: string[] = [];
  const close = frame.open({ onEvent: () => {}, onState: (state) => states.push(state) });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([states.at(-1), gateway.asked.length]).toEqual(["ended", 2]);
  gateway.takes = true;
  await frame.again();
  await vi.advanceTimersByTimeAsync(0);
  expect(states.at(-1)).toBe("live");
  close();
});

test("what the host saves and publishes is the workflow that it has opened", async () => {
  const { frame, hear, open, attach, done, publish } = harness();
  open("wf_1");
  await vi.advanceTimersByTimeAsync(0);
  frame.history.push(address("wf_2")); // by a link in the editor
  attach("wf_2");
  hear({ do: "publish", id: 1 });
  hear({ do: "save", id: 2 });
  await vi.advanceTimersByTimeAsync(0);
  expect([done.get(1), done.get(2), publish.mock.calls]).toEqual([expect.stringContaining("wf_2"), expect.stringContaining("wf_2"), []]);
  open("wf_1"); // as another language does
  await vi.advanceTimersByTimeAsync(0);
  expect(frame.history.location.href).toBe(address("wf_2"));
  open("wf_3");
  await vi.advanceTimersByTimeAsync(0);
  expect(frame.history.location.href).toBe(address("wf_3"));
  attach("wf_3");
  hear({ do: "publish", id: 3 });
  await vi.advanceTimersByTimeAsync(0);
  expect([done.has(3), done.get(3), publish.mock.calls.length]).toEqual([true, undefined, 1]);
});
