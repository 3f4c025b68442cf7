import createFetchClient, { type Client, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, operations, paths } from "./schema.js";

/** The records and requests of the API by their names, such as `Schemas["Workflow"]`. */
export type Schemas = components["schemas"];

/** The body of every answer that is not a success. Its `code` is stable. */
export type ApiError = Schemas["Error"];

export type SluiceClient = Client<paths>;

export type SluiceOptions = ClientOptions & {
  /** The gateway, such as `https://gateway.example`. */
  baseUrl: string;
};

/** Returns a client that sends an API key with every request. A secret key belongs on a server. */
export function createClient({ apiKey, ...options }: SluiceOptions & { apiKey: string }): SluiceClient {
  return connect(options, "X-API-Key", apiKey);
}

/** Returns a client that sends the operator's token, for the paths below `/v1/operator`. */
export function createOperatorClient({ token, ...options }: SluiceOptions & { token: string }): SluiceClient {
  return connect(options, "Authorization", `Bearer ${token}`);
}

function connect(options: SluiceOptions, header: string, value: string): SluiceClient {
  const client = createFetchClient<paths>(options);
  client.use({
    onRequest({ request }) {
      request.headers.set(header, value);
    },
  });
  return client;
}
