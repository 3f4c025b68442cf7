import type { TidyRequest } from "./arrange";
import { outputsOf, runsBody } from "./catalogue";
import { emptyBody, grid, grouped, inset, outputTop, sizesOf } from "./layout";
import type { Graph } from "./model";

export function tidyRequest(graph: Graph): TidyRequest {
  const sizes = sizesOf(graph);
  const all = Object.values(graph.nodes);
  const parents = new Set(all.map(({ parentId }) => parentId));
  const isBody = ({ id, type }: (typeof all)[number]) => runsBody(type) || parents.has(id);
  const bySource = grouped(graph.edges);
  const outputs = new Map(all.map((node) => [node.id, outputsOf(node, bySource.get(node.id) ?? [])]));
  const edges = Object.values(graph.edges).flatMap(({ sourceNodeId: from, targetNodeId: to, sourceOutputKey = "" }) => {
    const node = graph.nodes[from];
    const keys = outputs.get(from);
    return node && keys ? [{ from, to, fromTop: outputTop(keys.indexOf(sourceOutputKey), keys.length, isBody(node)) }] : [];
  });
  const nodes = all.map((node) => {
    const { width, height } = sizes.get(node.id) as { width: number; height: number };
    return { id: node.id, parentId: node.parentId, isBody: isBody(node), width, height };
  });
  return { nodes, edges, inset, empty: emptyBody, grid };
}

/** Finds where nodes stand from left to right without crossing more edges than they must. It takes a while, and so a worker does it. */
export function tidyPlaces(graph: Graph): Promise<Record<string, { x: number; y: number }>> {
  const worker = new Worker(new URL("./tidy.worker.ts", import.meta.url), { type: "module" });
  return new Promise<Record<string, { x: number; y: number }>>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage(tidyRequest(graph));
  }).finally(() => worker.terminate());
}
