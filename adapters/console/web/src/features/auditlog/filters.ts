import type { Parameters } from "@/ui";

const date = /^\d{4}-\d{2}-\d{2}$/;

/** When a day of somebody's calendar begins, some days later, as the API takes it; undefined for what is no day. */
export function startOf(day: string | undefined, later = 0): string | undefined {
  if (!day || !date.test(day)) return undefined;
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** The filters of the page's address as the API takes them: `to` is the last day. */
export const filtersOf = ({ actor, action, target, from, to }: Parameters) => ({ actor, action, target, from: startOf(from), to: startOf(to, 1) });

/** The address of the export of what the filters take. */
export function exportAddress(prefix: string, format: "csv" | "jsonl", parameters: Parameters): string {
  const given = Object.entries({ format, ...filtersOf(parameters) }).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return `${prefix}/audit-log/export?${new URLSearchParams(given)}`;
}
