const day = (at: Date) => at.toISOString().slice(0, 10);

/** What a report is asked for, in days or months of UTC that include now. */
export function periodOf(name: string | undefined, now: Date): { from: string; to: string; by: "day" | "month" } {
  const year = now.getUTCFullYear();
  const month = now.getUTCMonth();
  const date = now.getUTCDate();
  const to = day(new Date(Date.UTC(year, month, date + 1)));
  switch (name) {
    case "month":
      return { from: day(new Date(Date.UTC(year, month, 1))), to, by: "day" };
    case "year":
      return { from: day(new Date(Date.UTC(year, month - 11, 1))), to, by: "month" };
    default:
      return { from: day(new Date(Date.UTC(year, month, date - 29))), to, by: "day" };
  }
}
