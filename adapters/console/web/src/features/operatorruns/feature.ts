import { msg } from "@lingui/core/macro";
import { Activity } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "operator",
  nav: { group: "watch", order: 110, path: "runs", label: msg`All runs`, icon: Activity },
  pages: [{ path: "runs", load: () => import("./RunsPage") }],
} satisfies Feature;
