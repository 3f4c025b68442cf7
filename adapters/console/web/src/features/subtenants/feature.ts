import { msg } from "@lingui/core/macro";
import { Boxes } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "manage", order: 410, path: "sub-tenants", label: msg`Sub-tenants`, icon: Boxes, key: "b" },
  pages: [
    { path: "sub-tenants", load: () => import("./SubTenantsPage") },
    { path: "sub-tenants/$id", load: () => import("./SubTenantPage") },
  ],
} satisfies Feature;
