import { msg } from "@lingui/core/macro";
import { Zap } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "build", order: 210, path: "triggers", label: msg`Triggers`, icon: Zap, key: "t" },
  pages: [
    { path: "triggers", load: () => import("./TriggersPage") },
    { path: "triggers/$triggerId", load: () => import("./TriggerPage") },
  ],
} satisfies Feature;
