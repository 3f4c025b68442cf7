import type { Schemas } from "@/api";

type Entry = Schemas["HistoryEntry"];

/** A stretch of time of a node, in milliseconds since the run was created. */
export type Span = { kind: "attempt" | "retry" | "pause"; from: number; to: number; hasFailed: boolean };

/** What nodes did when: attempts, the time until the next one, and pauses. What has not ended lasts until now. */
export function spansOf(entries: Entry[], begin: number, now: number): Map<string, Span[]> {
  const spans = new Map<string, Span[]>();
  const open = new Map<string, Span>();
  for (const { type, nodeId, at } of entries) {
    if (!nodeId || !type.startsWith("node.")) continue;
    const when = new Date(at).getTime() - begin;
    const current = open.get(nodeId);
    if (current) {
      current.to = when;
      current.hasFailed = type === "node.failed" || type === "node.retrying";
      open.delete(nodeId);
    }
    const kind = { "node.started": "attempt", "node.retrying": "retry", "node.waiting": "pause" }[type as string] as Span["kind"] | undefined;
    const span: Span = { kind: kind ?? "attempt", from: when, to: kind ? now - begin : when, hasFailed: type === "node.failed" };
    if (kind) open.set(nodeId, span);
    if (kind || !current) spans.set(nodeId, [...(spans.get(nodeId) ?? []), span]);
  }
  return spans;
}
