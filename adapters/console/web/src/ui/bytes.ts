const units = ["B", "kB", "MB", "GB", "TB"];

/** A number of bytes for people: "10.5 MB". */
export function bytes(count: number): string {
  let unit = 0;
  let rest = count;
  while (rest >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${unit === 0 || rest >= 99.95 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}
