export { base, nonce, signedOut, signIn, signInAddress } from "./base";
export { type AccountSchemas, accountClient, operatorClient, type Schemas } from "./client";
export { ApiError, type Violation } from "./error";
export { LiveProvider, useLiveState } from "./live";
export {
  type Account,
  AccountProvider,
  accountApi,
  accountQuery,
  newQueryClient,
  operatorApi,
  type Role,
  reaches,
  TenantProvider,
  useAccount,
  useTenant,
} from "./session";
export { follow, type StreamEvent, type StreamState } from "./stream";
