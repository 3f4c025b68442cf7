import { msg } from "@lingui/core/macro";
import { Building2 } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "operator",
  nav: { group: "manage", order: 100, path: "", label: msg`Tenants`, icon: Building2 },
  pages: [
    { path: "/", load: () => import("./TenantsPage") },
    { path: "tenants/$id", load: () => import("./TenantPage") },
  ],
} satisfies Feature;
