import { msg } from "@lingui/core/macro";
import { ListOrdered } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "operator",
  nav: { group: "watch", order: 120, path: "queues", label: msg`Queues`, icon: ListOrdered },
  pages: [{ path: "queues", load: () => import("./QueuesPage") }],
} satisfies Feature;
