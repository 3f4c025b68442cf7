import type { Feature } from "@/ui";

export default {
  of: "tenant",
  pages: [{ path: "workflows/$workflowId/editor", load: () => import("./EditorPage") }],
} satisfies Feature;
