import type { Schemas } from "@/api";
import { type Graph, same } from "./model";
import type { SimulatedGraph } from "./view";

type Simulation = Schemas["Simulation"];
type Entry = Schemas["HistoryEntry"];
export type Answer = Schemas["SimulatedAnswer"];
/** What a simulation takes for what is outside, by the nodes that need it. */
export type Answers = Record<string, Answer[]>;
/** What happens at once: an entry of the history, and what follows of itself. */
export type Step = [Entry, ...Entry[]];

const continuesStep = new Set<Entry["type"]>(["node.skipped", "run.paused", "run.resumed"]);

/** The history of a simulation, step by step. */
export function stepsOf(history: Entry[]): Step[] {
  const steps: Step[] = [];
  for (const entry of history) {
    const last = steps.at(-1);
    if (last && continuesStep.has(entry.type)) last.push(entry);
    else steps.push([entry]);
  }
  return steps;
}

const statusOf: Partial<Record<Entry["type"], Schemas["RunNodeStatus"]>> = {
  "node.started": "running",
  "node.retrying": "running",
  "node.waiting": "waiting",
  "node.completed": "completed",
  "node.failed": "failed",
  "node.skipped": "skipped",
  "node.cancelled": "cancelled",
};

/** What the graph is like after a step: where each node stands, and which edges were taken. */
export function graphStateAt({ nodes, edges }: Graph, simulation: Simulation, steps: Step[], at: number): SimulatedGraph {
  const simulated: SimulatedGraph = { nodes: {}, calls: {}, edges: {}, current: steps[at]?.[0].nodeId };
  for (const { nodeId, type } of steps.slice(0, at + 1).flat()) {
    const status = statusOf[type];
    if (nodeId && status) simulated.nodes[nodeId] = status;
  }
  const ended = new Map(simulation.nodes.map((node) => [node.nodeId, node]));
  const all = Object.values(edges);
  for (const [key, { sourceNodeId, sourceOutputKey: output, targetNodeId, condition }] of Object.entries(edges)) {
    const [from, to] = [ended.get(sourceNodeId), ended.get(targetNodeId)];
    // A node that several edges lead to does not say which conditions held.
    const isUnclear = condition && (to?.status === "pending" || all.filter((edge) => edge.targetNodeId === targetNodeId).length > 1);
    if (!from || !to || to.status === "skipped" || isUnclear) continue;
    const now = simulated.nodes[sourceNodeId];
    const fits = !output || output === "onSuccess" || output === from.branch;
    if (now === "failed" ? output === "onError" : now === "completed" && fits) simulated.edges[key] = true;
  }
  // Of items there is no history, but of what they send.
  for (const { nodeId } of simulation.effects) {
    const loop = nodes[nodeId]?.parentId;
    if (loop && !ended.has(nodeId)) simulated.calls[nodeId] = (simulated.calls[nodeId] ?? 0) + 1;
  }
  for (const id of Object.keys(simulated.calls)) {
    let outermost = nodes[id]?.parentId ?? "";
    for (let next = nodes[outermost]?.parentId; next; next = nodes[next]?.parentId) outermost = next;
    if (!simulated.nodes[outermost]) delete simulated.calls[id];
  }
  return simulated;
}

/** Which of the answers for its node a step takes; undefined where it takes none. A call of a workflow is answered when it begins. */
export function answerAt({ nodes }: Graph, steps: Step[], at: number): number | undefined {
  const takes = ({ nodeId, type }: Entry) => {
    const kind = nodes[nodeId ?? ""]?.type;
    return type === "node.started" || (type === "node.waiting" && kind !== undefined && kind !== "wait" && kind !== "callWorkflow");
  };
  const entry = steps[at]?.[0];
  if (!entry || !takes(entry)) return undefined;
  return steps.slice(0, at).filter(([before]) => before.nodeId === entry.nodeId && takes(before)).length;
}

/** How many answers a node has used up, or has at all where it is in the body of another one. */
export const answersUsed = (graph: Graph, steps: Step[], answers: Answers, nodeId: string): number =>
  graph.nodes[nodeId]?.parentId
    ? (answers[nodeId]?.length ?? 0)
    : Math.max(0, steps.filter(([{ nodeId: of }], at) => of === nodeId && answerAt(graph, steps, at) !== undefined).length - 1);

// What one request may have, with some room: the gateway takes 5,000 answers in 1 MiB. An item beyond that is asked about again.
const most = { ofOne: 1_000, answers: 4_000, bytes: 800_000 };

/** How often an answer may stand for all items that follow. */
function copies(others: Answers, before: Answer[], answer: Answer): number {
  const given = [...Object.values(others).flat(), ...before];
  const left = most.bytes - JSON.stringify(given).length;
  return Math.max(1, Math.min(most.ofOne, most.answers - given.length, Math.floor(left / (JSON.stringify(answer).length + 1))));
}

/** Puts an answer into its place, or takes away what was there and behind it. */
export function withAnswer(answers: Answers, nodeId: string, place: number, answer: Answer | undefined, isForAll = false): Answers {
  const { [nodeId]: all = [], ...others } = answers;
  const before = all.slice(0, place);
  const filled = (one: Answer) => Array<Answer>(copies(others, before, one)).fill(one);
  const now = !answer ? before : isForAll ? [...before, ...filled(answer)] : [...before, answer, ...all.slice(place + 1)];
  return now.length > 0 ? { ...others, [nodeId]: now } : others;
}

/** Reads JSON. Nothing at all is an empty object. */
export function parseJson(text: string): { value?: unknown; isJson: boolean } {
  try {
    return { value: text.trim() === "" ? {} : JSON.parse(text), isJson: true };
  } catch {
    return { isJson: false };
  }
}

const withoutPlaces = ({ nodes, ...rest }: Graph) => ({ ...rest, nodes: Object.values(nodes).map(({ position: _, ...node }) => node) });

/** Whether two graphs do the same, wherever their nodes stand. */
export const isAlike = (one: Graph, other: Graph) => one === other || same(withoutPlaces(one), withoutPlaces(other));

/** The item that is shown, unless a node that it is of or within is gone from the graph. */
export const stillShown = (graph: Graph, item: Schemas["ItemPlace"][] | undefined) =>
  item?.every(({ nodeId }) => graph.nodes[nodeId]) ? item : undefined;
