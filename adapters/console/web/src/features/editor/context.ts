import { createContext, use, useMemo } from "react";
import { useStore } from "zustand";
import { useTenant } from "@/api";
import type { NodeType } from "./catalogue";
import { type Findings, findingsOf } from "./findings";
import type { Editing, Graph, Session } from "./model";
import type { View, ViewStore } from "./view";

type Editor = {
  workflowId: string;
  editing: Editing;
  view: ViewStore;
  types: NodeType[];
  findings: Findings;
};

export const EditorContext = createContext<Editor | null>(null);

export function useEditor(): Editor {
  const editor = use(EditorContext);
  if (!editor) throw new Error("this is no part of the editor");
  return editor;
}

export const useSession = <T>(select: (session: Session) => T): T => useStore(useEditor().editing.store, select);
export const useGraph = (): Graph => useSession(({ history }) => history.graph);
export function useIsReadOnly(): boolean {
  const { may } = useTenant();
  const isPublished = useSession(({ save }) => save === "readonly");
  return isPublished || !may("workflows:write");
}
export const useView = <T>(select: (view: View) => T): T => useStore(useEditor().view, select);

/** What the server finds wrong with one node or edge. */
export function useFindings(of: "node" | "edge", id: string) {
  const { findings } = useEditor();
  return useMemo(() => findingsOf(findings, of, id), [findings, of, id]);
}
