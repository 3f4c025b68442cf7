import { useLingui } from "@lingui/react";
import { useEffect, useState } from "react";

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** How far an instant is from another one, in words: "3 minutes ago". */
export function relative(at: Date, now: Date, locale: string): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(Math.round(seconds / size), unit);
}

const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** Renders again every few seconds; all that do so share one timer. */
function useTick() {
  const [, render] = useState(0);
  useEffect(() => {
    const again = () => render((n) => n + 1);
    listeners.add(again);
    ticking ??= setInterval(() => listeners.forEach((one) => void one()), 10_000);
    return () => {
      listeners.delete(again);
      if (listeners.size === 0) {
        clearInterval(ticking);
        ticking = undefined;
      }
    };
  }, []);
}

/** An instant, as far from now; the whole of it where somebody points. */
export function Time({ at }: { at: string }) {
  useTick();
  const { i18n } = useLingui();
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString(i18n.locale, { dateStyle: "medium", timeStyle: "long" })}>
      {relative(date, new Date(), i18n.locale)}
    </time>
  );
}
