import { type Graph, same } from "./model";
import { isRecord } from "./values";

/** What is not the same in two graphs: a node or an edge, and which of its members. Where nodes stand is no difference. */
export type Change = {
  of: "node" | "edge";
  name: string;
  kind: "added" | "removed" | "changed";
  members: { path: string; before: unknown; after: unknown }[];
};

/** The members that differ, each by its own path, as deep as both sides are objects. */
function differing(before: unknown, after: unknown, path = ""): Change["members"] {
  if (same(before, after)) return [];
  if (!isRecord(before) || !isRecord(after)) return [{ path, before, after }];
  return Object.keys({ ...before, ...after })
    .filter((key) => path !== "" || !["position", "id"].includes(key))
    .flatMap((key) => differing(before[key], after[key], path ? `${path}.${key}` : key));
}

export function changesOf(before: Graph, after: Graph): Change[] {
  const compare = <T>(of: Change["of"], a: Record<string, T>, b: Record<string, T>, nameOf: (value: T) => string) =>
    Object.keys({ ...a, ...b }).flatMap((id): Change[] => {
      const [old, now] = [a[id], b[id]];
      if (old === undefined && now !== undefined) return [{ of, name: nameOf(now), kind: "added", members: [] }];
      if (now === undefined && old !== undefined) return [{ of, name: nameOf(old), kind: "removed", members: [] }];
      const members = differing(old, now);
      return members.length > 0 ? [{ of, name: nameOf(now as T), kind: "changed", members }] : [];
    });
  const names = { ...before.nodes, ...after.nodes };
  return [
    ...compare("node", before.nodes, after.nodes, ({ name }) => name),
    ...compare("edge", before.edges, after.edges, (edge) => `${names[edge.sourceNodeId]?.name} → ${names[edge.targetNodeId]?.name}`),
  ];
}
