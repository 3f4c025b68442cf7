import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
const key = "sluice-theme";
const listeners = new Set<() => void>();

function read(): Theme {
  const kept = localStorage.getItem(key);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Shows the page as the browser keeps it. */
export function applyTheme() {
  const theme = read();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme) {
  if (theme === "system") localStorage.removeItem(key);
  else localStorage.setItem(key, theme);
  applyTheme();
  for (const one of listeners) one();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}
