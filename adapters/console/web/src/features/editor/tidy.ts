import { runsBody } from "./catalogue";
import { emptyBody, inset, sizesOf } from "./layout";
import type { Graph } from "./model";

type Size = { width: number; height: number };
export type TidyRequest = {
  nodes: (Size & { id: string; parentId?: string; isBody: boolean })[];
  edges: [from: string, to: string][];
  inset: typeof inset;
  empty: Size;
};

export function tidyRequest(graph: Graph): TidyRequest {
  const sizes = sizesOf(graph);
  const nodes = Object.values(graph.nodes).map(({ id, parentId, type }) => ({ id, parentId, isBody: runsBody(type), ...(sizes.get(id) as Size) }));
  return { nodes, edges: Object.values(graph.edges).map((edge) => [edge.sourceNodeId, edge.targetNodeId]), inset, empty: emptyBody };
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
