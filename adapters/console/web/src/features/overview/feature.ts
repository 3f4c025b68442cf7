import { msg } from "@lingui/core/macro";
import { LayoutDashboard } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "watch", order: 100, path: "", label: msg`Overview`, icon: LayoutDashboard, key: "o" },
  pages: [{ path: "/", load: () => import("./OverviewPage") }],
} satisfies Feature;
