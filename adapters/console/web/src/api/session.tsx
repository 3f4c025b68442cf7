import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { Client } from "openapi-fetch";
import createQueries, { type OpenapiQueryClient } from "openapi-react-query";
import { createContext, type ReactNode, use, useMemo } from "react";
import { type AccountSchemas, accountClient, operatorClient, type Schemas, type TenantPaths, tenantClient } from "./client";
import { ApiError } from "./error";

export type Account = AccountSchemas["Account"];
export type Role = AccountSchemas["Role"];
/** What an embed token may be permitted. */
export type Right = Schemas["TokenPermissions"][number];

/** A query is repeated when the gateway did not answer, and never when it said no. */
function isWorthRepeating(count: number, error: Error) {
  return count < 3 && !(error instanceof ApiError && error.status < 500 && error.status !== 429);
}

export function newQueryClient() {
  return new QueryClient({
    defaultOptions: { queries: { retry: isWorthRepeating, staleTime: 5_000, refetchOnWindowFocus: true, throwOnError: false } },
  });
}

/** Who is signed in. */
export const accountQuery = {
  queryKey: ["account"],
  queryFn: async () => (await accountClient.GET("/session")).data as Account,
  staleTime: 60_000,
};

const AccountContext = createContext<Account | null>(null);

export const AccountProvider = AccountContext.Provider;

/** Who is signed in. Nobody sees a page before that is known. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (!account) throw new Error("this is no page of somebody who is signed in");
  return account;
}

const ranks: Role[] = ["viewer", "approver", "editor", "admin"];

/** Says whether a role is enough for what takes another one. */
export function reaches(role: Role, needed: Role): boolean {
  return ranks.indexOf(role) >= ranks.indexOf(needed);
}

/** The least role of members who may do what tokens need a right for. */
const roleFor = (right: Right): Role => (right.endsWith(":read") ? "viewer" : right === "runs:act" ? "approver" : "editor");

type Tenant = {
  id: string;
  name: string;
  role: Role;
  /** Says whether the person may do what takes this role. */
  can: (needed: Role) => boolean;
  /** Says whether the person may do what this right is for, as it is one of an embed token. */
  may: (right: Right) => boolean;
  /** Calls operations: `await client.POST("/workflows", { body })`. Every failure is thrown as an ApiError. */
  client: Client<TenantPaths>;
  /** Queries and mutations: `api.useQuery("get", "/workflows", { params })`. */
  api: OpenapiQueryClient<TenantPaths>;
};

const TenantContext = createContext<Tenant | null>(null);

/** The tenant that the pages are about. */
export function useTenant(): Tenant {
  const tenant = use(TenantContext);
  if (!tenant) throw new Error("this is no page of a tenant");
  return tenant;
}

/** Gives pages their tenant. What was read for one is never shown for another. */
export function TenantProvider({ membership, children }: { membership: Account["memberships"][number]; children: ReactNode }) {
  const { tenantId, tenantName, role } = membership;
  const { client, queries } = useMemo(() => ({ client: tenantClient(tenantId), queries: newQueryClient() }), [tenantId]);
  const tenant = useMemo<Tenant>(
    () => ({
      id: tenantId,
      name: tenantName,
      role,
      can: (needed) => reaches(role, needed),
      may: (right) => reaches(role, roleFor(right)),
      client,
      api: createQueries(client),
    }),
    [tenantId, tenantName, role, client],
  );
  return (
    <QueryClientProvider client={queries}>
      <TenantContext value={tenant}>{children}</TenantContext>
    </QueryClientProvider>
  );
}

type Guest = { id: string; rights: Right[]; client: Client<TenantPaths>; queries: QueryClient; children: ReactNode };

/** Gives pages the tenant that a token is of. */
export function GuestProvider({ id, rights, client, queries, children }: Guest) {
  const tenant = useMemo<Tenant>(() => {
    const may = (right: Right) => rights.includes(right);
    const needs: Record<Role, Right | undefined> = { viewer: "workflows:read", approver: "runs:act", editor: "workflows:write", admin: undefined };
    const can = (needed: Role) => needs[needed] !== undefined && may(needs[needed]);
    return { id, name: "", role: "viewer", can, may, client, api: createQueries(client) };
  }, [id, rights, client]);
  return (
    <QueryClientProvider client={queries}>
      <TenantContext value={tenant}>{children}</TenantContext>
    </QueryClientProvider>
  );
}

/** Queries and mutations of a person's own account: `accountApi.useQuery("get", "/sessions")`. */
export const accountApi = createQueries(accountClient);

/** Queries and mutations of the operator: `operatorApi.useQuery("get", "/tenants")`. */
export const operatorApi = createQueries(operatorClient);
