export const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** What a person reads and writes for a value: text as it is, anything else as JSON. */
export const textOfValue = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" && typeof readValue(value) === "string" ? value : JSON.stringify(value, null, 2);

/** Reads what was written: JSON where it is some, and else the text itself. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Reads a number; what is none stays text, which the server refuses with a reason. */
export function readNumber(text: string): unknown {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && String(number) === text ? number : text;
}

/** The host of an address, where no expression is to say it. */
export function hostsIn(url: unknown): string[] {
  const [, host = ""] = (typeof url === "string" && url.match(/^https?:\/\/([^/?#\s]+)/)) || [];
  return host === "" || /[{}@]/.test(host) ? [] : [host];
}
