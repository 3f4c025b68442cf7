import { createStore } from "zustand/vanilla";
import type { Schemas } from "@/api";
import type { Insertion } from "./model";

type Place = { x: number; y: number };

/** Where the next node from the palette goes: behind a node, between two, into a body, or to a place of the canvas. */
export type Target = { insertion?: Insertion; into?: string; at?: Place };

/** What a step of a simulation shows on the graph. */
export type SimulatedGraph = {
  nodes: Record<string, Schemas["RunNodeStatus"]>;
  /** How many calls nodes in bodies have made, for all items together. */
  calls: Record<string, number>;
  edges: Record<string, true>;
  /** The node at which something happens now. */
  current?: string;
};

/** What somebody looks at: it is no part of the graph, and of no history. */
export type View = {
  nodes: string[];
  edges: string[];
  /** Is there while the palette is open. */
  adding?: Target;
  isListingProblems?: boolean;
  /** Whether the panel has what starts the workflow, while nothing is selected. */
  isListingTriggers?: boolean;
  /** Whether the graph is shown as a list. */
  isList?: boolean;
  /** Whether the panel takes the focus when it opens: where a node was chosen by keys, or is new. */
  takesFocus?: boolean;
  /** Whether the panel is open in which the version is simulated. */
  isSimulating?: boolean;
  /** What a run begins with that is simulated, as it was written last. */
  event?: string;
  simulated?: SimulatedGraph;
};

export const newView = (isSimulating = false) => createStore<View>(() => ({ nodes: [], edges: [], isSimulating }));
export type ViewStore = ReturnType<typeof newView>;
