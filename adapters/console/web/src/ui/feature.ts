import type { MessageDescriptor } from "@lingui/core";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";

type Role = "viewer" | "approver" | "editor" | "admin";

type FeaturePage = {
  /** Below the tenant's pages, or the operator's: "workflows/$workflowId". */
  path: string;
  load: () => Promise<{ default: ComponentType }>;
};

/** A part of the console: pages, and an entry in the navigation. Each `src/features/<name>/feature.ts` has one as its default. */
export type Feature = {
  /** Whose pages they are. */
  of: "tenant" | "operator" | "account";
  pages: FeaturePage[];
  nav?: {
    /** The part of the navigation it stands in, and its place there. */
    group: "watch" | "build" | "connect" | "manage";
    order: number;
    path: string;
    label: MessageDescriptor;
    icon: LucideIcon;
    /** The second key of the shortcut that leads there: "g" and this one. */
    key?: string;
    /** The least role that may see it. */
    role?: Role;
  };
};
