import { lazy, Suspense } from "react";
import { Skeleton } from "./page";

const JsonView = lazy(() => import("./json"));

/** JSON, whose viewer is loaded when it is needed. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <Suspense fallback={<Skeleton lines={2} />}>
      <JsonView value={value} label={label} />
    </Suspense>
  );
}
