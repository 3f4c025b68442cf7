import type { MessageDescriptor } from "@lingui/core";
import { msg } from "@lingui/core/macro";
import { useLingui } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import type { State } from "@/ui";
import type { Start, Unit } from "./config";
import { presets, type Scheme } from "./scheme";

export const startWords: Record<Start, MessageDescriptor> = {
  call: msg`A call of your servers, with a key`,
  event: msg`An event that your servers report`,
  hook: msg`A hook: GitHub, Stripe or another third party`,
  schedule: msg`A schedule`,
};

export const unitWords: Record<Unit, MessageDescriptor> = { minutes: msg`minutes`, hours: msg`hours`, days: msg`days` };

export const outcomes: Record<Schemas["FireOutcome"], State> = {
  fired: { word: msg`Fired`, tone: "ok" },
  late: { word: msg`Fired late`, tone: "warn" },
  caught_up: { word: msg`Caught up`, tone: "info" },
  skipped: { word: msg`Missed`, tone: "danger" },
  suppressed: { word: msg`Suppressed`, tone: "quiet" },
};

export const verdicts: Record<Schemas["HookVerdict"], State> = {
  accepted: { word: msg`Accepted`, tone: "ok" },
  duplicate: { word: msg`Duplicate`, tone: "quiet" },
  filtered: { word: msg`Filtered`, tone: "quiet" },
  inactive: { word: msg`Switched off`, tone: "warn" },
  challenged: { word: msg`Challenge answered`, tone: "info" },
  rejected: { word: msg`Rejected`, tone: "danger" },
  unreadable: { word: msg`Unreadable`, tone: "danger" },
  refused: { word: msg`Not from the sender`, tone: "danger" },
};

export const shifts: Record<NonNullable<Schemas["FireTime"]["shift"]>, MessageDescriptor> = {
  gap: msg`The clocks go forward and skip this time: it fires at the change.`,
  displaced: msg`The clocks go forward and skip this time: it fires when they would have shown it.`,
  repeated: msg`The clocks go back and show this time twice: it fires the first time.`,
  again: msg`The clocks go back and show this time twice: this is the second time.`,
};

export const kindWords: Record<string, MessageDescriptor> = {
  hmac: msg`Signature with a shared key (HMAC)`,
  ed25519: msg`Signature with a public key (Ed25519)`,
  secretHeader: msg`Secret in a header`,
  basic: msg`User name and password`,
  bearer: msg`Bearer token`,
  urlSecret: msg`Secret in the address`,
  none: msg`Nothing: whoever knows the address`,
};

export const fieldWords: Record<string, MessageDescriptor> = {
  algorithm: msg`Algorithm`,
  header: msg`Header`,
  encoding: msg`Encoding`,
  prefix: msg`Prefix`,
  signed: msg`What is signed`,
  timestampHeader: msg`Header of the time`,
  toleranceSeconds: msg`Seconds that it may be old`,
  parameter: msg`Parameter`,
};

/** Who sends to a hook, in words. */
export function useSender() {
  const { i18n } = useLingui();
  return ({ preset, kind = "" }: Scheme) => (preset ? presets[preset as keyof typeof presets] : i18n._(kindWords[kind] ?? { id: kind }));
}
