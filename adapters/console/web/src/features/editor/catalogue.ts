import {
  Braces,
  CalendarClock,
  Clock,
  CodeXml,
  CornerDownLeft,
  GitBranch,
  Globe,
  Hourglass,
  type LucideIcon,
  MessageCircleQuestionMark,
  Puzzle,
  Repeat,
  Split,
  Webhook,
  Workflow,
} from "lucide-react";
import type { Schemas } from "@/api";
import { kept } from "@/ui";
import { freeId, type Graph, type GraphEdge, type GraphNode } from "./model";

export type NodeType = Schemas["RegistryEntry"];

const icons: Record<string, LucideIcon> = {
  input: MessageCircleQuestionMark,
  wait: Clock,
  waitForEvent: Hourglass,
  condition: GitBranch,
  switch: Split,
  transform: Braces,
  httpRequest: Globe,
  callWorkflow: Workflow,
  forEach: Repeat,
  return: CornerDownLeft,
  code: CodeXml,
  trigger_webhook: Webhook,
  trigger_schedule: CalendarClock,
};

export const iconOf = (type: string) => icons[type] ?? Puzzle;
export const runsBody = (type: string) => type === "forEach";
export const startsRuns = (type: string) => type.startsWith("trigger_");

/** The workflow that a node calls, where that is not for an expression to say. */
export const calledWorkflow = ({ workflowId }: GraphNode["config"]) =>
  typeof workflowId === "string" && workflowId.startsWith("wf_") ? workflowId : undefined;

/** The entry for the type of a node, in its version where the registry lists that one. */
export const typeOf = (types: NodeType[], { type, version }: Pick<GraphNode, "type" | "version">) =>
  types.find((one) => one.type === type && one.version === version) ?? types.find((one) => one.type === type);

/** What a node goes on by: its branches, and other outputs that edges lead from. "" stands for whatever it gives. */
export function outputsOf(node: GraphNode, edges: GraphEdge[]): string[] {
  const used = edges.flatMap((edge) => (edge.sourceNodeId === node.id ? (edge.sourceOutputKey ?? "") : []));
  return [...new Set([...branchesOf(node), ...used])];
}

const cannotFail = new Set(["wait", "return", "trigger_webhook", "trigger_schedule"]);

/** Says whether a node can go on another way when it fails. */
export const canFail = ({ type }: GraphNode) => !cannotFail.has(type);

function branchesOf({ type, config }: GraphNode): string[] {
  if (type === "condition") return ["true", "false"];
  if (type === "switch") return [...(Array.isArray(config.cases) ? config.cases.map((_, at) => `case-${at}`) : []), "default"];
  return type === "return" ? [] : [""];
}

const withTemplates = new Set(["input", "httpRequest", "callWorkflow", "return"]);

/** Says whether the texts that a node is configured with may have expressions in them: {{ … }}. Those of custom nodes are handed over as they are. */
export const hasTemplates = ({ type, version }: GraphNode) => withTemplates.has(type) && !(type === "input" && version === "1.0.0");

/** A new node of a type, under an identifier that expressions can name. */
export function newNode(graph: Graph, entry: NodeType, position: { x: number; y: number }, parentId?: string): GraphNode {
  const words = entry.type.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? "").toUpperCase());
  const stem = words.charAt(0).toLowerCase() + words.slice(1) || "node";
  const isNamed = Object.values(graph.nodes).filter(({ name }) => name === entry.name || name.startsWith(`${entry.name} `)).length;
  return {
    id: freeId({ ...graph.nodes, input: true }, stem === "input" ? "question" : stem),
    type: entry.type,
    version: entry.version,
    name: isNamed > 0 ? `${entry.name} ${isNamed + 1}` : entry.name,
    config: {},
    inputSchema: {},
    outputSchema: {},
    position,
    ...(parentId ? { parentId } : {}),
  };
}

const recentKey = "sluice-recent-nodes";

/** The types that were added last, on this device. */
export function recentTypes(): string[] {
  try {
    const read: unknown = JSON.parse(kept.read(recentKey) ?? "[]");
    return Array.isArray(read) ? read.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export function rememberType(type: string) {
  kept.write(recentKey, JSON.stringify([type, ...recentTypes().filter((one) => one !== type)].slice(0, 5)));
}

/** The types whose name, description or identifier has all words of a text; those that were added last come first. */
export function findTypes(types: NodeType[], text: string, recent: string[]): NodeType[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ type }: NodeType) => (recent.includes(type) ? recent.indexOf(type) : startsRuns(type) ? 1_000 : 100);
  return types
    .filter(({ type, name, description }) => words.every((word) => `${type} ${name} ${description ?? ""}`.toLowerCase().includes(word)))
    .sort((a, b) => rank(a) - rank(b) || nameRank(a, words) - nameRank(b, words) || a.name.localeCompare(b.name));
}

const nameRank = ({ name }: NodeType, [first = ""]: string[]) => (first && name.toLowerCase().includes(first) ? 0 : 1);
