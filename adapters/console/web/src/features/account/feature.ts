import { msg } from "@lingui/core/macro";
import { CircleUser } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "account",
  nav: { group: "manage", order: 100, path: "", label: msg`Your account`, icon: CircleUser },
  pages: [{ path: "/", load: () => import("./AccountPage") }],
} satisfies Feature;
