import { type Graph, sameGraph } from "./graph";
import { merge, resolve } from "./merge";

/** A step that can be taken back: the graph before it and after it. */
type Step = {
  before: Graph;
  after: Graph /** Steps of one kind in a row are one, such as those of arrow keys or letters. */;
  group?: string;
  at: number;
};
export type History = { graph: Graph; past: Step[]; future: Step[] };

const longest = 200; // steps that are kept
const groupsWithin = 1_000; // milliseconds

export const historyOf = (graph: Graph): History => ({ graph, past: [], future: [] });

/** Records what a command made. */
export function record(history: History, after: Graph, at: number, group?: string): History {
  const { graph: before, past } = history;
  if (after === before || sameGraph(after, before)) return history;
  const last = past.at(-1);
  const isMore = group !== undefined && last?.group === group && last.after === before && at - last.at < groupsWithin;
  const step = isMore ? { ...last, after, at } : { before, after, group, at };
  return { graph: after, past: [...(isMore ? past.slice(0, -1) : past), step].slice(-longest), future: [] };
}

/** Puts a step's one side in the place of the other, and leaves alone what others have changed since. */
function exchange(now: Graph, from: Graph, to: Graph): Graph {
  if (now === from) return to;
  return resolve(from, to, now, merge(from, to, now).conflicts, () => "theirs");
}

export function undo({ graph, past, future }: History): History {
  const step = past.at(-1);
  if (!step) return { graph, past, future };
  return { graph: exchange(graph, step.after, step.before), past: past.slice(0, -1), future: [...future, step] };
}

export function redo({ graph, past, future }: History): History {
  const step = future.at(-1);
  if (!step) return { graph, past, future };
  return { graph: exchange(graph, step.before, step.after), past: [...past, step], future: future.slice(0, -1) };
}
