import { type ReactNode, useEffect, useRef } from "react";

export type Shortcut = {
  /** Keys in a row, such as "g w", or one with its modifier, "mod+k". */
  keys: string;
  label: ReactNode;
  run: () => void;
};

const registered = new Set<{ current: Shortcut }>();

/** All that can be pressed now. */
export const shortcuts = (): Shortcut[] => [...registered].map((one) => one.current);

/** Lets keys do something while a component is shown. They are not taken where somebody types. */
export function useShortcut(shortcut: Shortcut | undefined) {
  const current = useRef(shortcut);
  current.current = shortcut;
  const keys = shortcut?.keys;
  useEffect(() => {
    if (!keys) return;
    const entry = current as { current: Shortcut };
    registered.add(entry);
    return () => void registered.delete(entry);
  }, [keys]);
}

/** Finds what keys mean, which may come in a row; `rest` is what was pressed so far. */
export function match(all: Shortcut[], rest: string, key: string): { found?: Shortcut; rest: string } {
  for (const pressed of rest ? [`${rest} ${key}`, key] : [key]) {
    const found = all.find((one) => one.keys === pressed);
    if (found) return { found, rest: "" };
    if (all.some((one) => one.keys.startsWith(`${pressed} `))) return { rest: pressed };
  }
  return { rest: "" };
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

/** Says whether undo and redo are the browser's own: in a dialog, and in fields that are marked so. */
export const hasOwnUndo = (target: EventTarget | null) =>
  document.querySelector('[role="dialog"],[role="alertdialog"]') !== null || (target as Element | null)?.closest?.("[data-own-undo]") != null;

/** Listens to keys. Returns what ends it. */
export function listenToKeys(): () => void {
  let rest = "";
  let timer: ReturnType<typeof setTimeout>;
  const onKey = (event: KeyboardEvent) => {
    const hasModifier = event.ctrlKey || event.metaKey;
    if (event.altKey || event.defaultPrevented || event.repeat) return;
    if (!hasModifier && (isTyping(event.target) || document.querySelector('[role="dialog"],[role="alertdialog"],[role="menu"]'))) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (hasModifier && (key === "z" || key === "y") && hasOwnUndo(event.target)) {
      if (!isTyping(event.target)) event.preventDefault(); // or the browser changes the field that somebody typed in before, wherever it is
      return;
    }
    const { found, rest: next } = match(shortcuts(), hasModifier ? "" : rest, hasModifier ? `mod+${key}` : key);
    rest = next;
    clearTimeout(timer);
    timer = setTimeout(() => {
      rest = "";
    }, 1_200);
    if (found) {
      event.preventDefault();
      found.run();
    }
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
