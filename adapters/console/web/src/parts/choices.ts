import type { Schemas } from "@/api";

/** A workflow or a connection in a list. */
export type Listed = { id: string; name: string; kind?: Schemas["ConnectionKind"]; hosts?: string[] };

/** What can be chosen. Names are not unique: connections have their hosts below, and whatever is alike then, its identifier. */
export function choicesOf(records: Listed[]): { value: string; label: string; detail?: string }[] {
  const hostsOf = ({ hosts = [] }: Listed) => hosts.join(", ");
  const alike = (a: Listed, b: Listed) => a.id !== b.id && a.name === b.name && hostsOf(a) === hostsOf(b);
  return records.map((record) => {
    const parts = [hostsOf(record), records.some((other) => alike(record, other)) ? record.id : ""];
    return { value: record.id, label: record.name, detail: parts.filter(Boolean).join(" · ") || undefined };
  });
}
