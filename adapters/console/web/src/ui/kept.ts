let store: Storage | undefined;

/** What the browser keeps for this page; nothing in a page of another product, whose people have not asked for it. */
export const kept = {
  read: (key: string): string | null => (store ?? localStorage).getItem(key),
  write: (key: string, text: string) => (store ?? localStorage).setItem(key, text),
};

/** Keeps nothing from now on: what is written is read until the page is closed. */
export function keepNothing() {
  const texts = new Map<string, string>();
  store = { getItem: (key: string) => texts.get(key) ?? null, setItem: (key: string, text: string) => void texts.set(key, text) } as Storage;
}
