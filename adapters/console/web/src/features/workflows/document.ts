import type { Schemas } from "@/api";

type Version = Pick<Schemas["WorkflowVersion"], "nodes" | "edges">;

/** A workflow as a file: what a person can read, compare and import elsewhere. It holds no secrets, since connections are named only. */
export type WorkflowDocument = {
  sluice: 1;
  name: string;
  description?: string;
  metadata?: Record<string, string>;
  nodes: Schemas["NodeDraft"][];
  edges: Schemas["EdgeDraft"][];
};

/** Makes the file of a workflow and one of its versions. */
export function documentOf(
  { name, description, metadata }: Pick<Schemas["Workflow"], "name" | "description" | "metadata">,
  version: Version | undefined,
): WorkflowDocument {
  return {
    sluice: 1,
    name,
    ...(description ? { description } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    nodes: (version?.nodes ?? []).map(nodeDraft),
    edges: (version?.edges ?? []).map(edgeDraft),
  };
}

/** What of a node somebody chose: the rest follows from its type. */
function nodeDraft(node: Version["nodes"][number]): Schemas["NodeDraft"] {
  const { canPause: _, ...draft } = node;
  return draft as Schemas["NodeDraft"];
}

function edgeDraft(edge: Version["edges"][number]): Schemas["EdgeDraft"] {
  const { id: _, ...draft } = edge;
  return draft;
}

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
  if (!read || typeof read !== "object") return "not-a-workflow";
  const { name, description, metadata, nodes, edges } = read as Record<string, unknown>;
  if (typeof name !== "string" || !Array.isArray(nodes) || !Array.isArray(edges)) return "not-a-workflow";
  return {
    sluice: 1,
    name,
    ...(typeof description === "string" ? { description } : {}),
    ...(metadata && typeof metadata === "object" ? { metadata: metadata as Record<string, string> } : {}),
    nodes,
    edges,
  };
}

/** Gives a file to the browser to keep. */
export function download(name: string, document: WorkflowDocument) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(document, null, 2)}\n`], { type: "application/json" }));
  const link = Object.assign(window.document.createElement("a"), {
    href: address,
    download: `${name.replaceAll(/[^\p{L}\p{N}]+/gu, "-").toLowerCase()}.json`,
  });
  link.click();
  URL.revokeObjectURL(address);
}
