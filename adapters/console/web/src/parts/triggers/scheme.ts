/** Senders whose scheme the gateway knows, by the names that they go by. */
export const presets = {
  github: "GitHub",
  gitlab: "GitLab",
  stripe: "Stripe",
  slack: "Slack",
  shopify: "Shopify",
  standard: "Standard Webhooks (Svix)",
  twilio: "Twilio",
  hubspot: "HubSpot",
  linear: "Linear",
  zendesk: "Zendesk",
  paddle: "Paddle",
  square: "Square",
  discord: "Discord",
  meta: "Meta",
  dropbox: "Dropbox",
  "microsoft-graph": "Microsoft Graph",
} as const;

type Field = { name: string; isOptional?: boolean; choices?: string[]; isNumber?: boolean; example?: string };

const signature: Field[] = [
  { name: "header", example: "X-Signature" },
  { name: "encoding", choices: ["hex", "base64", "base64url"] },
  { name: "prefix", isOptional: true, example: "sha256=" },
  { name: "signed", example: "{timestamp}.{body}" },
  { name: "timestampHeader", isOptional: true, example: "X-Timestamp" },
  { name: "toleranceSeconds", isOptional: true, isNumber: true, example: "300" },
];

/** What each kind of scheme is described with, where no preset fits. */
export const kinds: Record<string, Field[]> = {
  hmac: [{ name: "algorithm", choices: ["sha256", "sha1", "sha512"] }, ...signature],
  ed25519: signature,
  secretHeader: [
    { name: "header", example: "X-Token" },
    { name: "prefix", isOptional: true },
  ],
  basic: [],
  bearer: [],
  urlSecret: [{ name: "parameter", example: "token" }],
  none: [],
};

/** A scheme as the API takes it. */
export type Scheme = { preset?: string; kind?: string } & Record<string, unknown>;

/** The scheme that a form describes; the choice is "preset:github" or "kind:hmac". */
export function schemeOf(choice: string, text: (name: string) => string | undefined): Scheme {
  const [sort, name = ""] = choice.split(":");
  if (sort === "preset") return { preset: name };
  const scheme: Scheme = { kind: name };
  for (const field of kinds[name] ?? []) {
    const given = text(`scheme.${field.name}`);
    if (given !== undefined) scheme[field.name] = field.isNumber ? Number(given) : given;
  }
  return scheme;
}

export const choiceOf = ({ preset, kind }: Scheme) => (preset ? `preset:${preset}` : `kind:${kind}`);

/** A scheme as it was, with what a form says now: what the form shows and was left empty goes, what it does not show stays. */
export function mergedScheme(before: Scheme, scheme: Scheme): Scheme {
  const shown = new Set((kinds[scheme.kind ?? ""] ?? []).map(({ name }) => name));
  return { ...Object.fromEntries(Object.entries(before).filter(([name]) => !shown.has(name))), ...scheme };
}

/** What a secret that is typed is kept as; null where it takes a connection of another kind, or none. */
export function secretMember(choice: string): "key" | "publicKey" | null {
  if (choice === "preset:discord" || choice === "kind:ed25519") return "publicKey";
  return choice === "kind:none" || choice === "kind:basic" ? null : "key";
}
