import type { MessageDescriptor } from "@lingui/core";
import { msg } from "@lingui/core/macro";
import type { Schemas } from "@/api";
import type { State } from "@/ui";
import type { Kind } from "./secret";

export const kindWords: Record<Kind, MessageDescriptor> = {
  bearer: msg`Bearer token`,
  basic: msg`User name and password`,
  header: msg`Headers`,
  query: msg`Parameters of the query`,
  oauth2AuthorizationCode: msg`OAuth 2, a person consents`,
  oauth2ClientCredentials: msg`OAuth 2, client credentials`,
  hmac: msg`Signature (HMAC), or the secret of a hook`,
  mtls: msg`Client certificate (mTLS)`,
};

export const memberWords: Record<string, MessageDescriptor> = {
  token: msg`Token`,
  username: msg`User name`,
  password: msg`Password`,
  tokenUrl: msg`URL for tokens`,
  authorizationUrl: msg`URL for consent`,
  clientId: msg`Client ID`,
  clientSecret: msg`Client secret`,
  scopes: msg`Scopes`,
  audience: msg`Audience`,
  authStyle: msg`Where the client's secret is sent`,
  key: msg`Key`,
  publicKey: msg`Public key (Ed25519), of hooks`,
  header: msg`Header of the signature`,
  encoding: msg`Encoding of the signature`,
  certificate: msg`Certificate, in PEM`,
  privateKey: msg`Private key, in PEM`,
  ca: msg`Authority of the server's certificate, in PEM`,
};

export const grantStates: Record<Schemas["Grant"]["status"], State> = {
  none: { word: msg`Nothing was asked for yet`, tone: "quiet" },
  active: { word: msg`Calls have a token`, tone: "ok" },
  failing: { word: msg`The last request for a token failed`, tone: "warn" },
  needsConsent: { word: msg`A person has to consent`, tone: "danger" },
};
