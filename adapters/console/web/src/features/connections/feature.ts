import { msg } from "@lingui/core/macro";
import { Plug } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "connect", order: 310, path: "connections", label: msg`Connections`, icon: Plug, key: "n" },
  pages: [
    { path: "connections", load: () => import("./ConnectionsPage") },
    { path: "connections/$connectionId", load: () => import("./ConnectionPage") },
  ],
} satisfies Feature;
