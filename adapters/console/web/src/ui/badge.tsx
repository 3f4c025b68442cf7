import type { ReactNode } from "react";

const tones = {
  quiet: "text-quiet",
  ok: "text-ok",
  info: "text-info",
  warn: "text-warn",
  danger: "text-danger",
};

export type Tone = keyof typeof tones;

/** A state in one word. Its colour says nothing that the word does not. */
export function Badge({ tone = "quiet", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${tones[tone]}`}>
      <span aria-hidden className="size-2 rounded-full bg-current" />
      {children}
    </span>
  );
}
