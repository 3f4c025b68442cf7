import type { Feature } from "@/ui";

const found = import.meta.glob<Feature>("../features/*/feature.ts", { eager: true, import: "default" });

/** All parts of the console. */
export const features: Feature[] = Object.values(found);

/** The entries of the navigation of tenants, or of the operator, in their order. */
export const entries = (of: Feature["of"]) =>
  features
    .filter((feature) => feature.of === of)
    .flatMap(({ nav }) => nav ?? [])
    .sort((a, b) => a.order - b.order);
