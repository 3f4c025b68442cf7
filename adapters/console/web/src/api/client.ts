import createFetchClient, { type Client, type Middleware } from "openapi-fetch";
import { base, signIn } from "./base";
import type { components as ConsoleComponents, paths as ConsolePaths } from "./console.gen";
import { ApiError, errorOf } from "./error";
import type { components, paths as GatewayPaths } from "./gateway.gen";

/** The records and requests of the API by their names, such as `Schemas["Workflow"]`. */
export type Schemas = components["schemas"];
export type AccountSchemas = ConsoleComponents["schemas"];

type Below<Paths, Prefix extends string> = { [P in keyof Paths as P extends `${Prefix}${infer Rest}` ? Rest : never]: Paths[P] };

/** The operations of a tenant: those of keys, and those that only members have. Paths are as in the description, without what they begin with. */
export type TenantPaths = Below<GatewayPaths, "/v1/gateway"> & WithoutTenant<Below<ConsolePaths, "/console/api/t/{tenantId}">>;
export type OperatorPaths = Below<GatewayPaths, "/v1/operator">;
export type AccountPaths = Below<ConsolePaths, "/console/api">;

// The tenant is in the address of the client, so that no call names it.
type WithoutTenant<Paths> = { [P in keyof Paths]: { [M in keyof Paths[P]]: M extends "parameters" ? object : OperationWithoutTenant<Paths[P][M]> } };
type OperationWithoutTenant<Operation> = Operation extends { parameters: { path: infer Path } }
  ? Omit<Operation, "parameters"> & { parameters: Omit<Operation["parameters"], "path"> & PathParameters<Omit<Path, "tenantId">> }
  : Operation;
type PathParameters<Path> = keyof Path extends never ? { path?: never } : { path: Path };

/** Every failure is thrown as an ApiError; who is signed out is sent to the sign-in. */
const failures: Middleware = {
  async onResponse({ response }) {
    if (response.ok || response.status === 304) return;
    const failure = await errorOf(response);
    if (failure.code === "signed_out") signIn();
    throw failure;
  },
};

const gone = new Set<string>();

/**
 * What was deleted here is not asked for again: its page is still shown for a moment, and reads itself anew when it hears of the change. Keys and
 * tokens can still be read when they were revoked.
 */
const deletions: Middleware = {
  onRequest({ request }) {
    const { pathname, searchParams } = new URL(request.url);
    const ofWorkflow = pathname.endsWith("/workflow-versions") && searchParams.get("workflowId");
    const isAbout = (one: string) => pathname === one || pathname.startsWith(`${one}/`) || (ofWorkflow && one.endsWith(`/workflows/${ofWorkflow}`));
    if (request.method === "GET" && [...gone].some(isAbout)) throw new ApiError(404, "deleted", "It was deleted.", "");
  },
  onResponse({ request, response }) {
    const path = new URL(request.url).pathname;
    if (request.method === "DELETE" && response.ok && /\/[a-z]+_[0-9a-z]{26}$/.test(path) && !/\/(api-keys|embed-tokens)\/[^/]+$/.test(path))
      gone.add(path);
  },
};

function connect<Paths extends object>(path: string): Client<Paths> {
  const client = createFetchClient<Paths>({ baseUrl: `${base}api${path}` });
  client.use(failures, deletions);
  return client;
}

/** A client of the API that keys use: what is given sends the requests, and adds the key. */
export function keyClient(address: string, send: (request: Request) => Promise<Response>): Client<TenantPaths> {
  const client = createFetchClient<TenantPaths>({ baseUrl: address, fetch: send });
  client.use(failures, deletions);
  return client;
}

export const tenantClient = (tenantId: string) => connect<TenantPaths>(`/t/${tenantId}`);
export const operatorClient = connect<OperatorPaths>("/operator");
export const accountClient = connect<AccountPaths>("");
