import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
  useParams,
  useRouterState,
} from "@tanstack/react-router";
import { AccountProvider, accountQuery, base, LiveProvider, TenantProvider, useAccount, useTenant } from "@/api";
import { ErrorPanel, type Feature, Skeleton } from "@/ui";
import { parseSearch, stringifySearch } from "@/ui/search";
import { features } from "./features";
import { NoTenant, NotAllowed, NotFound } from "./notfound";
import { Shell } from "./shell";

const root = createRootRoute({ component: SignedIn, notFoundComponent: NotFound });

/** Shows pages to who is signed in. */
function SignedIn() {
  const { data, error, refetch } = useQuery(accountQuery);
  if (data) {
    return (
      <AccountProvider value={data}>
        <Outlet />
      </AccountProvider>
    );
  }
  return <div className="p-6">{error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}</div>;
}

const lastTenant = "sluice-tenant";

/** Leads to the tenant that somebody saw last. */
function Home() {
  const { memberships, user } = useAccount();
  const last = localStorage.getItem(lastTenant);
  const to = memberships.find(({ tenantId }) => tenantId === last) ?? memberships[0];
  if (to) return <Navigate to={`/t/${to.tenantId}`} replace />;
  return user.isOperator ? <Navigate to="/operator" replace /> : <NoTenant />;
}

function TenantPages() {
  const { tenantId } = useParams({ strict: false }) as { tenantId: string };
  const queries = useQueryClient();
  const membership = useAccount().memberships.find((one) => one.tenantId === tenantId);
  if (!membership) return <NotFound />;
  localStorage.setItem(lastTenant, tenantId);
  return (
    <TenantProvider membership={membership}>
      {/* Whose session has ended is sent to the sign-in by the answer; who is no member any more sees that. */}
      <LiveProvider onRefused={() => void queries.refetchQueries({ queryKey: accountQuery.queryKey })}>
        <Shell of="tenant">
          <ForRole />
        </Shell>
      </LiveProvider>
    </TenantProvider>
  );
}

/** Shows a page to whose role reaches it. */
function ForRole() {
  const { can } = useTenant();
  const shown = useRouterState({ select: ({ matches }) => String(matches.at(-1)?.fullPath) });
  const role = features.find(({ of, pages }) => of === "tenant" && pages.some(({ path }) => shown === `/t/$tenantId/${path}`))?.nav?.role;
  return !role || can(role) ? <Outlet /> : <NotAllowed />;
}

function OperatorPages() {
  if (!useAccount().user.isOperator) return <NotFound />;
  return (
    <Shell of="operator">
      <Outlet />
    </Shell>
  );
}

function AccountPages() {
  return (
    <Shell of="account">
      <Outlet />
    </Shell>
  );
}

const index = createRoute({ getParentRoute: () => root, path: "/", component: Home });
const tenant = createRoute({ getParentRoute: () => root, path: "/t/$tenantId", component: TenantPages });
const operator = createRoute({ getParentRoute: () => root, path: "/operator", component: OperatorPages });
const account = createRoute({ getParentRoute: () => root, path: "/account", component: AccountPages });

/** The routes of all pages of features. Their code is loaded when somebody goes there. */
function pagesOf(of: Feature["of"], parent: AnyRoute): AnyRoute[] {
  return features
    .filter((feature) => feature.of === of)
    .flatMap(({ pages }) => pages.map(({ path, load }) => createRoute({ getParentRoute: () => parent, path, component: lazyRouteComponent(load) })));
}

const routeTree = root.addChildren([
  index,
  tenant.addChildren(pagesOf("tenant", tenant)),
  operator.addChildren(pagesOf("operator", operator)),
  account.addChildren(pagesOf("account", account)),
]);

export const router = createRouter({
  routeTree,
  basepath: base,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => (
    <div className="p-6">
      <ErrorPanel error={error} onRetry={reset} />
    </div>
  ),
  defaultPendingComponent: () => (
    <div className="p-6">
      <Skeleton />
    </div>
  ),
});
