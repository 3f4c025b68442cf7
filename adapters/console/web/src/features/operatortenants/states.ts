import { msg } from "@lingui/core/macro";
import type { Schemas } from "@/api";
import type { State } from "@/ui";

export const tenantStates: Record<Schemas["Tenant"]["status"], State> = {
  active: { word: msg`Active`, tone: "ok" },
  suspended: { word: msg`Suspended`, tone: "warn" },
};
