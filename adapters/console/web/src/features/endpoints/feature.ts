import { msg } from "@lingui/core/macro";
import { Webhook } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "connect", order: 320, path: "endpoints", label: msg`Webhook endpoints`, icon: Webhook, key: "e" },
  pages: [
    { path: "endpoints", load: () => import("./EndpointsPage") },
    { path: "endpoints/$endpointId", load: () => import("./EndpointPage") },
  ],
} satisfies Feature;
