import { createStore } from "zustand/vanilla";
import type { Insertion } from "./model";

type Place = { x: number; y: number };

/** Where the next node from the palette goes: behind a node, between two, into a body, or to a place of the canvas. */
export type Target = { insertion?: Insertion; into?: string; at?: Place };

/** What somebody looks at: it is no part of the graph, and of no history. */
export type View = {
  nodes: string[];
  edges: string[];
  /** Is there while the palette is open. */
  adding?: Target;
  isListingProblems?: boolean;
  /** Whether the graph is shown as a list. */
  isList?: boolean;
  /** Whether the panel takes the focus when it opens: where a node was chosen by keys, or is new. */
  takesFocus?: boolean;
};

export const newView = () => createStore<View>(() => ({ nodes: [], edges: [] }));
export type ViewStore = ReturnType<typeof newView>;
