import { msg } from "@lingui/core/macro";
import { ScrollText } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 450, path: "audit-log", label: msg`Audit log`, icon: ScrollText, key: "l", role: "admin" },
  pages: [{ path: "audit-log", load: () => import("./AuditLogPage") }],
} satisfies Feature;
