import { msg } from "@lingui/core/macro";
import { ListChecks } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 445, path: "jobs", label: msg`Jobs and erasure`, icon: ListChecks, key: "j" },
  pages: [{ path: "jobs", load: () => import("./JobsPage") }],
} satisfies Feature;
