import { afterEach, expect, test, vi } from "vitest";
import { ApiError, type Violation } from "@/api";
import { refused } from "./findings";
import { type draftOf, edit, emptyGraph, type Graph, same } from "./model";
import { node } from "./model/fixtures";
import { serverOf } from "./server";

vi.mock("@/api", () => import("@/api/error"));
afterEach(() => void vi.useRealTimers());

type Body = ReturnType<typeof draftOf>;
type Sent = { params: { header: Record<string, string> }; body: Body };

/** Versions as the gateway keeps them: a repeat under one key makes no second one, and its answer has no ETag. */
function newGateway() {
  const gateway = { drafts: [] as { body: Body; state: number }[], isLost: false };
  const made = new Map<string, Body>();
  const answer = (at: number, hasTag = true) => {
    const { body, state } = gateway.drafts[at] as (typeof gateway.drafts)[number];
    if (gateway.isLost) throw new TypeError("failed to fetch");
    return { data: { id: String(at), version: at + 1, ...body }, response: new Response(null, { headers: hasTag ? { ETag: String(state) } : {} }) };
  };
  const client = {
    GET: async (_: string, { params }: { params: { path: { id: string } } }) => answer(Number(params.path.id)),
    POST: async (_: string, { params, body }: Sent) => {
      const key = params.header["X-Idempotency-Key"] as string;
      const first = made.get(key);
      if (first && !same(first, body)) throw new ApiError(400, "idempotency_key_reused", "Another request had this key.", "r");
      if (first) return answer(0, false);
      made.set(key, body);
      gateway.drafts.push({ body, state: 1 });
      return answer(gateway.drafts.length - 1);
    },
    PATCH: async (_: string, { params, body }: Sent & { params: { path: { id: string } } }) => {
      const draft = gateway.drafts[Number(params.path.id)] as (typeof gateway.drafts)[number];
      if (params.header["If-Match"] !== String(draft.state)) throw new ApiError(412, "stale", "It has changed.", "r");
      Object.assign(draft, { body, state: draft.state + 1 });
      return answer(Number(params.path.id));
    },
  };
  return { gateway, server: serverOf(client as unknown as Parameters<typeof serverOf>[0], "wf_1") };
}

const add = (id: string) => ({ do: "add" as const, node: node(id) });

test("a workflow without a version gets one draft, though the answer is lost and somebody types on", async () => {
  vi.useFakeTimers();
  const { gateway, server } = newGateway();
  const { store, run, flush, saveAsDraft } = edit(server, undefined);
  gateway.isLost = true;
  run(add("a"));
  expect(await flush()).toBe(false);
  run(add("b"));
  expect([await flush(), store.getState().save]).toEqual([false, "offline"]);
  gateway.isLost = false;
  expect(await flush()).toBe(true);
  expect(gateway.drafts.map(({ body }) => body.nodes.map(({ id }) => id))).toEqual([["a", "b"]]);
  expect([await saveAsDraft(), gateway.drafts.length]).toEqual([true, 2]);
});

test("what the gateway refuses is told at the node that it is about", () => {
  const graph: Graph = { ...emptyGraph, nodes: { a: node("a"), b: node("b") } };
  const failure = (...details: Violation[]) => new ApiError(400, "invalid", "It is not valid.", "r", details);
  expect(refused(failure({ field: "nodes[1].name", code: "too_long", message: "is too long" }), graph)).toEqual([
    { of: "node", id: "b", path: "name", message: "is too long", isWarning: false },
  ]);
  expect(refused(failure(), graph)).toEqual([{ path: "", message: "It is not valid.", isWarning: false }]);
  expect(refused(new ApiError(502, "no_answer", "502", "r"), graph)).toEqual([]);
});
