import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { apply } from "./commands";
import { anyCommand, node } from "./fixtures";
import { emptyGraph, type Graph, same } from "./graph";
import { edit, type Server, type Stored, saveDelay } from "./session";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Trouble = "none" | "offline" | "lost" | "ended" | "refused" | "signedOut";

/** A server that keeps one version, as the gateway does. */
function newServer(graph: Graph = emptyGraph) {
  let state = 1;
  const stored = { graph, trouble: "none" as Trouble, writes: 0 };
  const read = (): Stored => ({ versionId: "v1", etag: String(state), graph: stored.graph });
  const put = (next: Graph) => {
    stored.graph = next;
    state++;
    stored.writes++;
  };
  const server: Server = {
    read: async () => {
      if (stored.trouble === "offline") throw "unreachable";
      return read();
    },
    write: async (next, { etag }) => {
      if (stored.trouble === "offline") throw "unreachable";
      if (["ended", "refused", "signedOut"].includes(stored.trouble)) throw stored.trouble;
      if (etag !== String(state) && !(etag === "" && stored.writes === 0)) throw "stale";
      put(next);
      if (stored.trouble === "lost") throw "unreachable";
      return read();
    },
    refusalOf: (failure) => failure as "unreachable",
  };
  return { server, stored, read, put };
}

const add = (id: string, name = id) => ({ do: "add" as const, node: node(id, { name }) });
const graphOf = (...ids: string[]): Graph => ({ ...emptyGraph, nodes: Object.fromEntries(ids.map((id) => [id, node(id)])) });

test("changes are saved once, a while after the last one", async () => {
  const { server, stored, read } = newServer();
  const { store, run } = edit(server, read());
  run(add("a"));
  await vi.advanceTimersByTimeAsync(saveDelay - 1);
  run(add("b"));
  expect(store.getState().save).toBe("unsaved");
  await vi.advanceTimersByTimeAsync(saveDelay);
  expect([store.getState().save, stored.writes, stored.graph]).toEqual(["saved", 1, graphOf("a", "b")]);
});

test("a workflow without a version gets one by the first change", async () => {
  const { server, stored } = newServer();
  const { store, run, flush } = edit(server, undefined);
  expect(stored.writes).toBe(0);
  run(add("a"));
  expect(await flush()).toBe(true);
  expect([store.getState().versionId, stored.graph]).toEqual(["v1", graphOf("a")]);
});

test("what cannot be sent is kept, and saved when the gateway answers again", async () => {
  const { server, stored, read } = newServer();
  const { store, run, flush } = edit(server, read());
  stored.trouble = "offline";
  run(add("a"));
  expect(await flush()).toBe(false);
  run(add("b"));
  expect(store.getState().save).toBe("offline");
  stored.trouble = "none";
  await vi.advanceTimersByTimeAsync(10_000);
  expect([store.getState().save, stored.graph]).toEqual(["saved", graphOf("a", "b")]);
});

test("an answer that got lost is no conflict", async () => {
  const { server, stored, read } = newServer();
  const { store, run } = edit(server, read());
  stored.trouble = "lost";
  run(add("a"));
  await vi.advanceTimersByTimeAsync(saveDelay);
  expect(store.getState().save).toBe("offline");
  stored.trouble = "none";
  await vi.advanceTimersByTimeAsync(10_000);
  expect([store.getState().save, store.getState().merges, stored.writes]).toEqual(["saved", 0, 1]);
});

test("what was saved without an answer, and changed by somebody else since, is there once", async () => {
  const { server, stored, read, put } = newServer();
  const { store, run } = edit(server, read());
  stored.trouble = "lost";
  run(add("a"));
  await vi.advanceTimersByTimeAsync(saveDelay);
  stored.trouble = "none";
  put(apply(stored.graph, { do: "change", node: "a", change: { name: "theirs" } }));
  await vi.advanceTimersByTimeAsync(10_000);
  expect([store.getState().save, store.getState().history.graph]).toEqual(["saved", stored.graph]);
  expect(Object.values(stored.graph.nodes).map(({ id, name }) => [id, name])).toEqual([["a", "theirs"]]);
});

test("an undo after a lost answer stays undone", async () => {
  const { server, stored, read } = newServer(graphOf("a"));
  const { store, run, undo } = edit(server, read());
  stored.trouble = "lost";
  run({ do: "change", node: "a", change: { name: "new" } });
  await vi.advanceTimersByTimeAsync(saveDelay);
  expect(stored.graph.nodes.a?.name).toBe("new");
  undo();
  stored.trouble = "none";
  await vi.advanceTimersByTimeAsync(10_000);
  expect([store.getState().save, store.getState().history.graph, stored.graph]).toEqual(["saved", graphOf("a"), graphOf("a")]);
});

test("typing on after a lost answer is no conflict", async () => {
  const { server, stored, read } = newServer(graphOf("a"));
  const { store, run } = edit(server, read());
  const type = (name: string) => run({ do: "change", node: "a", change: { name } });
  stored.trouble = "offline";
  type("o");
  await vi.advanceTimersByTimeAsync(saveDelay);
  stored.trouble = "lost";
  type("on");
  await vi.advanceTimersByTimeAsync(3_000);
  expect(stored.graph.nodes.a?.name).toBe("on");
  type("one");
  stored.trouble = "none";
  await vi.advanceTimersByTimeAsync(20_000);
  expect([store.getState().save, store.getState().merges, stored.graph.nodes.a?.name]).toEqual(["saved", 0, "one"]);
});

test("what was thrown away is not saved later", async () => {
  const { server, stored, read } = newServer();
  const { run, flush, stop } = edit(server, read());
  stored.trouble = "offline";
  run(add("a"));
  expect(await flush()).toBe(false);
  stop();
  stored.trouble = "none";
  await vi.advanceTimersByTimeAsync(60_000);
  await flush();
  expect(stored.writes).toBe(0);
});

test("undo after settling a conflict leaves what the other side did", async () => {
  const { server, stored, read, put } = newServer(graphOf("a"));
  const { run, flush, settle, undo } = edit(server, read());
  run({ do: "change", node: "a", change: { name: "mine" } });
  const theirs = apply(apply(stored.graph, { do: "change", node: "a", change: { name: "theirs" } }), add("b"));
  put(theirs);
  expect(await flush()).toBe(false);
  await settle(() => "theirs");
  expect(stored.graph).toEqual(theirs);
  undo();
  await flush();
  expect(stored.graph).toEqual(theirs);
});

test("who is signed out keeps what is not saved, and saves it when signed in again", async () => {
  const { server, stored, read } = newServer();
  const { store, run, flush } = edit(server, read());
  stored.trouble = "signedOut";
  run(add("a"));
  expect([await flush(), store.getState().save]).toEqual([false, "signedOut"]);
  run(add("b"));
  stored.trouble = "none";
  expect([await flush(), stored.graph]).toEqual([true, graphOf("a", "b")]);
});

test("two pages never overwrite each other: what is independent is merged, and a person settles the rest", async () => {
  const { server, stored, read } = newServer(graphOf("a", "b"));
  const [one, two] = [edit(server, read()), edit(server, read())];
  one.run({ do: "change", node: "a", change: { name: "one" } });
  expect(await one.flush()).toBe(true);
  two.run({ do: "change", node: "b", change: { name: "two" } });
  expect(await two.flush()).toBe(true);
  expect(Object.values(stored.graph.nodes).map(({ name }) => name)).toEqual(["one", "two"]);
  one.run({ do: "change", node: "b", change: { name: "three" } });
  expect(await one.flush()).toBe(false);
  expect(one.store.getState().conflict?.conflicts.map(({ id, mine, theirs }) => [id, mine, theirs])).toEqual([
    ["b", node("b", { name: "three" }), node("b", { name: "two" })],
  ]);
  expect(stored.graph.nodes.b?.name).toBe("two");
  await one.settle(() => "mine");
  expect([one.store.getState().save, stored.graph.nodes.b?.name]).toEqual(["saved", "three"]);
});

test("a version that was published meanwhile takes no change: it goes on as a draft", async () => {
  const { server, stored, read } = newServer(graphOf("a"));
  const { store, run, flush, saveAsDraft } = edit(server, read());
  stored.trouble = "ended";
  run(add("b"));
  expect([await flush(), store.getState().save]).toEqual([false, "ended"]);
  stored.trouble = "none";
  expect([await saveAsDraft(), stored.graph]).toEqual([true, graphOf("a", "b")]);
});

test("what is read-only never changes", async () => {
  const { server, stored, read } = newServer(graphOf("a"));
  const { store, run, undo, flush } = edit(server, read(), false);
  run(add("b"));
  undo();
  expect([await flush(), store.getState().history.graph, stored.writes]).toEqual([true, graphOf("a"), 0]);
});

test("who may not write any more changes and saves nothing, and keeps what was changed until it may be saved", async () => {
  const { server, stored, read } = newServer();
  const { store, run, undo, flush, permit } = edit(server, read());
  run(add("a"));
  permit(false);
  run(add("b"));
  undo();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([store.getState().save, store.getState().history.graph, stored.writes]).toEqual(["unsaved", graphOf("a"), 0]);
  expect(await flush()).toBe(false);
  permit(true);
  await vi.advanceTimersByTimeAsync(0);
  expect([store.getState().save, stored.graph]).toEqual(["saved", graphOf("a")]);
});

test("whatever happens, the server ends up with what the person sees, and nothing of others is lost", async () => {
  vi.useRealTimers();
  const step = fc.oneof(
    { weight: 4, arbitrary: anyCommand(["a", "b", "c"]).map((command) => ({ by: "me" as const, command })) },
    { weight: 2, arbitrary: anyCommand(["p", "q", "r"]).map((command) => ({ by: "others" as const, command })) },
    { weight: 1, arbitrary: anyCommand(["a", "b"]).map((command) => ({ by: "rivals" as const, command })) },
    { weight: 2, arbitrary: fc.constantFrom("save", "undo", "redo", "look", "reload").map((by) => ({ by })) },
    { weight: 1, arbitrary: fc.constantFrom("none", "offline", "lost").map((trouble) => ({ by: "trouble" as const, trouble })) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom("mine" as const, "theirs" as const), async (steps, choice) => {
      const { server, stored, read, put } = newServer();
      let editing = edit(server, read());
      let others = emptyGraph;
      for (const one of steps) {
        if ("trouble" in one) stored.trouble = one.trouble as Trouble;
        if ("command" in one && one.by === "me") editing.run(one.command);
        if ("command" in one && one.by !== "me") {
          put(apply(stored.graph, one.command));
          if (one.by === "others") others = apply(others, one.command);
        }
        if (one.by === "undo") editing.undo();
        if (one.by === "redo") editing.redo();
        if (one.by === "look") editing.take(read());
        const writes = stored.writes;
        if (one.by === "save" && (await editing.flush()) && stored.writes > writes)
          // without a write it may know nothing of the others
          expect(same(stored.graph.nodes, { ...stored.graph.nodes, ...editing.store.getState().history.graph.nodes })).toBe(true);
        if (one.by === "reload" && (await editing.flush())) {
          editing.stop();
          editing = edit(server, read());
        }
      }
      stored.trouble = "none";
      for (let tries = 0; tries < 5 && !(await editing.flush()); tries++) await editing.settle(() => choice);
      editing.take(read());
      expect(editing.store.getState().save).toBe("saved");
      expect(same(editing.store.getState().history.graph, stored.graph)).toBe(true);
      const kept = Object.entries(stored.graph.nodes).filter(([id]) => /^[pqr]/.test(id));
      expect(Object.fromEntries(kept)).toEqual(others.nodes);
      editing.stop();
    }),
    { numRuns: 200 },
  );
});
