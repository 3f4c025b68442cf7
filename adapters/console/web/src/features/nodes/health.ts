import { msg } from "@lingui/core/macro";
import type { Schemas } from "@/api";
import type { State } from "@/ui";

export const healthStates: Record<Schemas["NodeHealth"]["status"], State> = {
  healthy: { word: msg`Healthy`, tone: "ok" },
  unhealthy: { word: msg`Not healthy`, tone: "danger" },
  unknown: { word: msg`Not checked yet`, tone: "quiet" },
};
