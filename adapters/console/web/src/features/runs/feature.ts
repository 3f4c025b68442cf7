import { msg } from "@lingui/core/macro";
import { History } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "watch", order: 110, path: "runs", label: msg`Runs`, icon: History, key: "r" },
  pages: [
    { path: "runs", load: () => import("./RunsPage") },
    { path: "runs/$runId", load: () => import("./RunPage") },
  ],
} satisfies Feature;
