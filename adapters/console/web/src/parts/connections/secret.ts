import type { Schemas } from "@/api";

export type Kind = Schemas["ConnectionKind"];

/** A member of a connection's secret, as the form asks for it. */
export type Member = {
  name: string;
  /** Whether it is never shown again. */
  isSecret?: boolean;
  isOptional?: boolean;
  /** Whether it has several lines, as keys in PEM do. */
  isLong?: boolean;
  /** Whether it is a list of words. */
  isList?: boolean;
  choices?: string[];
};

/** What the API writes in the place of what it never shows; sent back, it keeps what is stored. */
export const redacted = "[redacted]";

const authStyle: Member = { name: "authStyle", isOptional: true, choices: ["header", "body"] };

/** The members of each kind, except for those of the kinds whose members have names of the person's own. */
export const membersOf: Record<Kind, Member[]> = {
  bearer: [{ name: "token", isSecret: true }],
  basic: [
    { name: "username", isSecret: true },
    { name: "password", isSecret: true },
  ],
  header: [],
  query: [],
  oauth2ClientCredentials: [
    { name: "tokenUrl" },
    { name: "clientId" },
    { name: "clientSecret", isSecret: true },
    { name: "scopes", isOptional: true, isList: true },
    { name: "audience", isOptional: true },
    authStyle,
  ],
  oauth2AuthorizationCode: [
    { name: "authorizationUrl" },
    { name: "tokenUrl" },
    { name: "clientId" },
    { name: "clientSecret", isSecret: true, isOptional: true },
    { name: "scopes", isOptional: true, isList: true },
    authStyle,
  ],
  hmac: [
    { name: "key", isSecret: true, isOptional: true },
    { name: "publicKey", isSecret: true, isOptional: true },
    { name: "header", isOptional: true },
    { name: "encoding", isOptional: true, choices: ["hex", "base64"] },
  ],
  mtls: [
    { name: "certificate", isSecret: true, isLong: true },
    { name: "privateKey", isSecret: true, isLong: true },
    { name: "ca", isSecret: true, isOptional: true, isLong: true },
  ],
};

/** Whether the person names the members: headers, or parameters of the query. */
export const isNamed = (kind: Kind) => kind === "header" || kind === "query";

export const isOAuth = (kind: Kind) => kind === "oauth2ClientCredentials" || kind === "oauth2AuthorizationCode";

type Secret = Schemas["Connection"]["secret"];
export type Pair = { id: number; key: string; value: string };

/** Makes the secret of what stands in a form. What is stored and was not typed again stays as it is. */
export function secretOf(kind: Kind, text: (name: string) => string | undefined, pairs: Pair[], before: Secret = {}): Secret {
  if (isNamed(kind)) {
    const named = pairs.map(({ key, value }) => [key.trim(), value || (key.trim() in before ? redacted : "")] as const);
    return Object.fromEntries(named.filter(([key, value]) => key || value));
  }
  const secret: Secret = {};
  for (const { name, isList } of membersOf[kind]) {
    const given = text(name);
    if (given !== undefined) secret[name] = isList ? given.split(/[\s,]+/) : given;
    else if (before[name] === redacted) secret[name] = redacted;
  }
  return secret;
}

/** The hosts that somebody typed, one a line or with commas. */
export const hostsOf = (text: string | undefined) => text?.split(/[\s,]+/).filter(Boolean) ?? [];

/** A form shows a member that is no secret as it is. */
export function shownMember(value: unknown): string {
  if (Array.isArray(value)) return value.join(" ");
  return typeof value === "string" && value !== redacted ? value : "";
}
