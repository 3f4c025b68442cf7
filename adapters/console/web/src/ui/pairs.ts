export type Pair = { id: number; key: string; value: string };

/** What makes metadata of what it was: pairs to set, and null for those to take away. */
export function metadataPatch(before: Record<string, string>, pairs: Pair[]): Record<string, string | null> {
  const kept = Object.fromEntries(pairs.map(({ key, value }) => [key.trim(), value]).filter(([key]) => key));
  return { ...Object.fromEntries(Object.keys(before).map((key) => [key, null])), ...kept };
}

/** The pairs of metadata, as a form has them. */
export const pairsOf = (metadata: Record<string, string> = {}): Pair[] => Object.entries(metadata).map(([key, value], id) => ({ id, key, value }));
