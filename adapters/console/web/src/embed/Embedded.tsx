import { useLingui } from "@lingui/react/macro";
import { createRootRoute, createRoute, createRouter, Outlet, RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { useStore } from "zustand";
import { GuestProvider, LiveProvider } from "@/api";
import { HostContext } from "@/features/editor/host";
import { attempt, Button, ErrorBoundary, ErrorPanel, HasPage, Skeleton } from "@/ui";
import { parseSearch, stringifySearch } from "@/ui/search";
import { Toasts } from "@/ui/toast";
import type { Frame } from "./frame";

const EditorPage = lazy(() => import("@/features/editor/EditorPage"));

const openNothing = () => () => undefined;

/** The editor alone: there are no other pages, but editors of other workflows. */
const hasPage = (to: string) => /^\/t\/[^/]*\/workflows\/[^/]+\/editor$/.test(to);

export function Embedded({ frame }: { frame: Frame }) {
  const rights = useStore(frame.store, (state) => state.rights);
  const refused = useStore(frame.store, (state) => state.refused);
  const isReadOnly = useStore(frame.store, (state) => state.isReadOnly);
  const [router] = useState(() => newRouter(frame));
  const granted = useMemo(() => (isReadOnly ? rights?.filter((right) => right.endsWith(":read")) : rights), [rights, isReadOnly]);
  if (!granted)
    return (
      <div className="p-4">{refused ? <ErrorPanel error={refused} onRetry={() => void frame.again().catch(() => undefined)} /> : <Skeleton />}</div>
    );
  const shown = (
    <HasPage value={hasPage}>
      <HostContext value={frame}>
        {refused && <Refused onRetry={() => frame.again()} />}
        <RouterProvider router={router} />
        <Toasts />
      </HostContext>
    </HasPage>
  );
  return (
    <GuestProvider id="embedded" rights={granted} client={frame.client} queries={frame.queries}>
      {/* It stays whatever is granted: what is below would lose what was not saved. */}
      <LiveProvider onRefused={() => undefined} open={granted.includes("runs:read") ? frame.open : openNothing}>
        {shown}
      </LiveProvider>
    </GuestProvider>
  );
}

function newRouter({ history }: Frame) {
  const root = createRootRoute({
    component: () => (
      <ErrorBoundary>
        <main>
          <Suspense fallback={<Skeleton />}>
            <Outlet />
          </Suspense>
        </main>
      </ErrorBoundary>
    ),
  });
  const editor = createRoute({ getParentRoute: () => root, path: "/t/$tenantId/workflows/$workflowId/editor", component: EditorPage });
  return createRouter({ routeTree: root.addChildren([editor]), history, parseSearch, stringifySearch });
}

/** Says that nobody lets the page in any more. What was changed stays where it is. */
function Refused({ onRetry }: { onRetry: () => Promise<void> }) {
  const { t } = useLingui();
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 border-b border-line bg-raised px-4 py-2">
      <span className="flex-1">{t`Your access has ended. What you changed is kept on this page, and saved once you have access again.`}</span>
      <Button label={t`Try again`} onClick={() => void attempt(onRetry(), t`You have access again`)} />
    </div>
  );
}

/** What is shown where no page of the tenant's shows this one. */
export function Alone({ isKnown }: { isKnown: boolean }) {
  const { t } = useLingui();
  return (
    <main className="mx-auto max-w-prose p-6">
      <h1 className="text-xl font-semibold">{t`The editor`}</h1>
      <p>
        {isKnown
          ? t`This page is shown within one of another product, which says who may do what.`
          : t`No page may show the editor at this address: it is unknown, or its owner has named no origin.`}
      </p>
    </main>
  );
}
