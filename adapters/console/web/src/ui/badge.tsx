import type { MessageDescriptor } from "@lingui/core";
import { useLingui } from "@lingui/react/macro";
import type { ReactNode } from "react";

const tones = {
  quiet: "text-quiet",
  ok: "text-ok",
  info: "text-info",
  warn: "text-warn",
  danger: "text-danger",
};

type Tone = keyof typeof tones;

/** A state in one word. Its colour says nothing that the word does not. */
export function Badge({ tone = "quiet", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`inline-flex items-baseline gap-1.5 ${tones[tone]}`}>
      <span aria-hidden className="size-2 shrink-0 rounded-full bg-current" />
      <span className="min-w-0">{children}</span>
    </span>
  );
}

/** A state that something can be in. */
export type State = { word: MessageDescriptor; tone: Tone };

/** The state that something is in. */
export function StateBadge({ of: { word, tone } }: { of: State }) {
  const { i18n } = useLingui();
  return <Badge tone={tone}>{i18n._(word)}</Badge>;
}

/** Says whether something is on, and what it means that it is off. */
export function OnOff({ of, off }: { of: { isActive: boolean }; off?: string }) {
  const { t } = useLingui();
  return <Badge tone={of.isActive ? "ok" : "quiet"}>{of.isActive ? t`On` : (off ?? t`Off`)}</Badge>;
}
