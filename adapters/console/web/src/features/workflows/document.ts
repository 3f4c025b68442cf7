import type { Schemas } from "@/api";
import { isObject, type Members, printed, replaced, tidied } from "./file";

type Version = Pick<Schemas["WorkflowVersion"], "nodes" | "edges" | "isActive">;
type Trigger = Pick<Schemas["Trigger"], "id" | "name" | "type" | "isActive" | "metadata" | "config"> & { hook?: Schemas["Hook"] };

export type TriggerFile = { name: string; type: string; isActive?: boolean; metadata?: Members; config?: Members; hook?: Members };

/** A workflow as a file, as `sluice workflow` writes it, too: names in place of identifiers, and no secrets. */
export type WorkflowDocument = {
  sluice: 1;
  name: string;
  description?: string;
  metadata?: Record<string, string>;
  isActive?: boolean;
  draft?: boolean;
  runRetentionDays?: number;
  triggers?: TriggerFile[];
  nodes: Members[];
  edges: Members[];
};

/** What stands for an identifier in files. */
export const kinds = { $connection: "/connections", $workflow: "/workflows" } as const;
export type Kind = keyof typeof kinds;
export type Reference = { kind: Kind; name: string };

/** Reads an object that stands for an identifier. */
export function referenceOf(value: unknown): Reference | undefined {
  if (!isObject(value)) return undefined;
  const kind = (Object.keys(kinds) as Kind[]).find((one) => typeof value[one] === "string");
  return kind && { kind, name: String(value[kind]) };
}

/** Makes the file of a workflow, one of its versions and its triggers. `names` are those of what they name, by their identifiers. */
export function documentOf(
  workflow: Pick<Schemas["Workflow"], "name" | "description" | "metadata" | "isActive" | "runRetentionDays">,
  version: Version | undefined,
  triggers: Trigger[] = [],
  names: Map<string, Reference> = new Map(),
): WorkflowDocument {
  const named = (value: unknown) =>
    replaced(value, (one) => {
      const reference = typeof one === "string" ? names.get(one) : undefined;
      return reference && { [reference.kind]: reference.name };
    });
  return tidied({
    ...workflow,
    isActive: shownActive(workflow),
    sluice: 1,
    draft: !version?.isActive,
    triggers: triggers.map((trigger) => ({
      ...trigger,
      isActive: shownActive(trigger),
      config: named(trigger.config),
      hook: trigger.hook && { ...(named(trigger.hook) as Members), isActive: shownActive(trigger.hook) },
    })),
    nodes: (version?.nodes ?? []).map((node) => ({ ...node, config: named(configFile(node)) })),
    edges: version?.edges ?? [],
  }) as WorkflowDocument;
}

const shownActive = ({ isActive }: { isActive: boolean }) => (isActive ? undefined : false);

/** The configuration of a node as files have it: code by lines, and without the identifier of a trigger, which is found by its name. */
function configFile({ type, config }: { type: string; config: Members }): Members {
  if (type.startsWith("trigger_")) {
    const { _triggerId: _, ...rest } = config;
    return rest;
  }
  const { source } = config;
  return type === "code" && typeof source === "string" && source.includes("\n") ? { ...config, source: source.split("\n") } : config;
}

/** The nodes of a file as the API takes them. */
export const nodesOf = ({ nodes }: WorkflowDocument): Members[] =>
  nodes.map((node) => {
    const source = isObject(node.config) ? node.config.source : undefined;
    return node.type === "code" && Array.isArray(source) ? { ...node, config: { ...(node.config as Members), source: source.join("\n") } } : node;
  });

/** Why a file is no workflow. */
export type Unreadable = "not-json" | "not-a-workflow";

/** Reads the file of a workflow. What its nodes hold is the server's to judge. */
export function parseDocument(text: string): WorkflowDocument | Unreadable {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return "not-json";
  }
  if (!isObject(read)) return "not-a-workflow";
  const { name, nodes, edges, triggers = [] } = read;
  const areObjects = [nodes, edges, triggers].every((list) => Array.isArray(list) && list.every(isObject));
  if (typeof name !== "string" || !areObjects) return "not-a-workflow";
  return tidied({ ...read, sluice: 1 }) as WorkflowDocument;
}

/** Gives a file to the browser to keep. */
export function download(name: string, document: WorkflowDocument) {
  const address = URL.createObjectURL(new Blob([printed(document)], { type: "application/json" }));
  const link = Object.assign(window.document.createElement("a"), {
    href: address,
    download: `${name.replaceAll(/[^\p{L}\p{N}]+/gu, "-").toLowerCase()}.json`,
  });
  link.click();
  URL.revokeObjectURL(address);
}
