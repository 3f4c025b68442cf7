import type { MessageDescriptor } from "@lingui/core";
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

/** What a run was started by. */
export const causes: Record<Schemas["RunCause"], MessageDescriptor> = {
  webhook: msg`A call`,
  by_event: msg`An event`,
  ingest: msg`An event`,
  schedule: msg`Its schedule`,
  manual: msg`By hand`,
  call: msg`Another run`,
  rerun: msg`Repeating a run`,
  item: msg`An item of a run`,
};

/** What a run is about, where somebody has said so: else an identifier was made up, which says nothing. */
export const entityOf = ({ entityId }: { entityId: string }): string | undefined => (/^ent_[0-9a-z]{26}$/.test(entityId) ? undefined : entityId);

/** Where a node of a run can stand. */
export const nodeStates: Record<Schemas["RunNodeStatus"], State> = {
  ...runStates,
  waiting: runStates.paused,
  skipped: { word: msg`Skipped`, tone: "quiet" },
};
