import { msg } from "@lingui/core/macro";
import { Settings } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 430, path: "settings", label: msg`Settings`, icon: Settings, key: "s" },
  pages: [{ path: "settings", load: () => import("./SettingsPage") }],
} satisfies Feature;
