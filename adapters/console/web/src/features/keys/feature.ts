import { msg } from "@lingui/core/macro";
import { KeyRound } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 300, path: "keys", label: msg`API keys`, icon: KeyRound, key: "k", role: "admin" },
  pages: [{ path: "keys", load: () => import("./KeysPage") }],
} satisfies Feature;
