import { type ReactNode, Suspense } from "react";
import { ErrorBoundary, Skeleton } from "@/ui";

/** What is loaded when it is needed. Where that fails, the rest of the editor stays as it is, with what is not saved. */
export function Part({ lines, children }: { lines?: number; children: ReactNode }) {
  return (
    <ErrorBoundary>
      <Suspense fallback={<Skeleton lines={lines} />}>{children}</Suspense>
    </ErrorBoundary>
  );
}
