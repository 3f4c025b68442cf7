import { msg } from "@lingui/core/macro";
import { ChartColumn } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "operator",
  nav: { group: "watch", order: 120, path: "usage", label: msg`Usage`, icon: ChartColumn },
  pages: [{ path: "usage", load: () => import("./UsagePage") }],
} satisfies Feature;
