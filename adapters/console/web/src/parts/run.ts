import { msg } from "@lingui/core/macro";
import type { Schemas } from "@/api";
import type { State } from "@/ui";

/** Where a run can stand. */
export const runStates: Record<Schemas["RunStatus"], State> = {
  pending: { word: msg`Pending`, tone: "quiet" },
  running: { word: msg`Running`, tone: "info" },
  paused: { word: msg`Waiting`, tone: "warn" },
  completed: { word: msg`Completed`, tone: "ok" },
  failed: { word: msg`Failed`, tone: "danger" },
  cancelled: { word: msg`Cancelled`, tone: "quiet" },
};

/** Where a node of a run can stand. */
export const nodeStates: Record<Schemas["RunNodeStatus"], State> = {
  ...runStates,
  waiting: runStates.paused,
  skipped: { word: msg`Skipped`, tone: "quiet" },
};
