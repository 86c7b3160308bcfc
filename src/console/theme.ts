import { useSyncExternalStore } from "react";

/** How the page looks: as the system does, or as was chosen. */
export type Theme = "system" | "light" | "dark";

const KEY = "toolgate-theme";
const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

/** What was chosen on this device; `system` where nothing was, or nothing can be kept. */
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

/** Shows the page so; styles.css has the colours. */
export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** Shows the page so from now on, on this device. */
export function selectTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing shows it until the page is left.
  }
  applyTheme(theme);
  for (const listener of listeners) listener();
}

/** The chosen theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, selectedTheme);
}

/** The theme that is seen, for what draws its own colours. */
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
