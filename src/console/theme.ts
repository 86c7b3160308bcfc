import { useSyncExternalStore } from "react";

/** The theme; `system` follows the operating system. */
export type Theme = "system" | "light" | "dark";

const KEY = "toolgate-theme";
const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

/** Returns the theme stored on this device, default `system`. */
export function selectedTheme(): Theme {
  const kept = stored();
  return kept === "light" || kept === "dark" ? kept : "system";
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Applies the theme to the page. */
export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** Stores and applies the theme. */
export function selectTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Without storage, the theme lasts until the page is closed.
  }
  applyTheme(theme);
  for (const listener of listeners) listener();
}

/** Returns the selected theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, selectedTheme);
}

/** Returns the resolved theme, for content that draws its own colours. */
export function useEffectiveTheme(): "light" | "dark" {
  return useSyncExternalStore(subscribe, () => {
    const theme = selectedTheme();
    if (theme !== "system") return theme;
    return darkScheme.matches ? "dark" : "light";
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  darkScheme.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    darkScheme.removeEventListener("change", listener);
  };
}
