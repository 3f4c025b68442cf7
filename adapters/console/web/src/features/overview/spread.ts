/** How long runs took, in milliseconds: half of them at most the median, 95 of 100 at most p95. */
export function spread(runs: { startedAt?: string; finishedAt?: string }[]): { median?: number; p95?: number } {
  const took = runs
    .flatMap(({ startedAt, finishedAt }) => (startedAt && finishedAt ? [new Date(finishedAt).getTime() - new Date(startedAt).getTime()] : []))
    .sort((a, b) => a - b);
  const at = (part: number) => took[Math.ceil(took.length * part) - 1];
  return { median: at(0.5), p95: at(0.95) };
}
