import { msg } from "@lingui/core/macro";
import { ChartColumn } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 440, path: "usage", label: msg`Usage`, icon: ChartColumn, key: "u" },
  pages: [{ path: "usage", load: () => import("./UsagePage") }],
} satisfies Feature;
