/** The last twelve months of UTC, this one first: "2026-01". */
export function lastMonths(now: Date): string[] {
  return Array.from({ length: 12 }, (_, ago) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1)).toISOString().slice(0, 7));
}

/** A month as the API takes it. */
export function boundsOf(month: string): { from: string; to: string } {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10) };
}
