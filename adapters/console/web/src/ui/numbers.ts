import { i18n } from "@lingui/core";

/** A number as the language writes it: "1,234.5". */
export const number = (value: number, options: Intl.NumberFormatOptions = { maximumFractionDigits: 1 }) => value.toLocaleString(i18n.locale, options);

/** A number with one digit behind the comma, or none. */
const rounded = (value: number, digits: 0 | 1) => number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });

const units = ["B", "kB", "MB", "GB", "TB"];

/** A number of bytes for people: "10.5 MB". */
export function bytes(count: number): string {
  let unit = 0;
  let rest = count;
  while (rest >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${rounded(rest, unit === 0 || rest >= 99.95 ? 0 : 1)} ${units[unit]}`;
}

/** How long something took: "320 ms", "4.2 s", "3 min 5 s". */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${rounded(ms / 1_000, ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${number(Math.floor(minutes / 1_440))} d ${Math.floor((minutes % 1_440) / 60)} h`;
}

/** How long something took from one instant to another; nothing where one of them is not known. */
export const spanOf = (from: string | undefined, to: string | undefined): string | undefined =>
  from && to && duration(Date.parse(to) - Date.parse(from));
