import { msg } from "@lingui/core/macro";
import { Server } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "operator",
  nav: { group: "watch", order: 130, path: "processes", label: msg`Processes`, icon: Server },
  pages: [{ path: "processes", load: () => import("./ProcessesPage") }],
} satisfies Feature;
