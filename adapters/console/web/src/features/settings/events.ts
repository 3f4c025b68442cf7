import type { Schemas } from "@/api";

type EventName = Schemas["EventName"];

/** The names of events as lines of text: "order.paid An order was paid". */
export const linesOf = (events: EventName[]): string => events.map(({ name, label }) => (label ? `${name} ${label}` : name)).join("\n");

/** Reads them: the first word of each line is the name, the rest its label. */
export function readLines(text: string): EventName[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [, name = line, label] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
      return label ? { name, label } : { name };
    });
}
