import { msg } from "@lingui/core/macro";
import { Blocks } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "build", order: 220, path: "nodes", label: msg`Custom nodes`, icon: Blocks, key: "d" },
  pages: [
    { path: "nodes", load: () => import("./NodesPage") },
    { path: "nodes/$nodeId", load: () => import("./NodePage") },
  ],
} satisfies Feature;
