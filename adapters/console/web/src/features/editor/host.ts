import { createContext } from "react";
import type { Editing } from "./model";

/** What shows the editor, where that is no page of the console. */
export type Host = {
  /** Takes the editor of a workflow, once it is shown. Returns what gives it back. */
  attach: (editor: { workflowId: string; editing: Editing; publish: () => Promise<void> }) => () => void;
  /** Is told that a version became the active one. */
  onPublished: (published: { workflowId: string; versionId: string; version: number }) => void;
};

export const HostContext = createContext<Host | null>(null);
