import type { Schemas } from "@/api";
import type { WorkflowDocument } from "./document";
import { type Members, replaced } from "./file";

export type Template = Schemas["Template"];

/** Finds templates by words of their names and descriptions. */
export function found(templates: Template[], search: string): Template[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return templates.filter(({ name, description }) => words.every((word) => `${name} ${description}`.toLowerCase().includes(word)));
}

/** The files of a template with addresses of one's own, by those in their place; the main one has the name that was chosen. */
export function filledIn({ workflows = [] }: Template, name: string, addresses: Record<string, string>): WorkflowDocument[] {
  return workflows.map((file, i) => {
    const filled = replaced(file, (one) => {
      if (typeof one !== "string") return undefined;
      return Object.entries(addresses).reduce((text, [from, to]) => text.replaceAll(from, to.replace(/\/$/, "")), one);
    }) as Members;
    return { ...filled, ...(i === 0 ? { name } : {}) } as WorkflowDocument;
  });
}
