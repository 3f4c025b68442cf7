import { msg } from "@lingui/core/macro";
import { Users } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 420, path: "members", label: msg`Members`, icon: Users, key: "m", role: "admin" },
  pages: [{ path: "members", load: () => import("./MembersPage") }],
} satisfies Feature;
