import { msg } from "@lingui/core/macro";
import { Workflow } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "build", order: 200, path: "workflows", label: msg`Workflows`, icon: Workflow, key: "w" },
  pages: [
    { path: "workflows", load: () => import("./WorkflowsPage") },
    { path: "workflows/$workflowId", load: () => import("./WorkflowPage") },
  ],
} satisfies Feature;
