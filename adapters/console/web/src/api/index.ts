export { base, nonce, signedOut, signIn, signInAddress } from "./base";
export { type AccountSchemas, accountClient, keyClient, operatorClient, type Schemas } from "./client";
export { ApiError, type Violation } from "./error";
export { LiveProvider, useLiveState } from "./live";
export {
  type Account,
  AccountProvider,
  accountApi,
  accountQuery,
  GuestProvider,
  newQueryClient,
  operatorApi,
  type Right,
  type Role,
  reaches,
  TenantProvider,
  useAccount,
  useTenant,
} from "./session";
export { type Follow, follow, type StreamEvent, type StreamState } from "./stream";
