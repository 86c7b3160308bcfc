import { useSyncExternalStore } from "react";
import { store } from "./browser-storage.ts";
import { createStore } from "./store.ts";

/** The theme; `system` follows the operating system. */
export type Theme = "system" | "light" | "dark";

const { dataset } = document.documentElement;
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

// The page's first script has applied the theme of this device.
const { theme } = dataset;
const selected = createStore<Theme>(theme === "light" || theme === "dark" ? theme : "system");

export const useTheme = selected.use;

export function selectTheme(theme: Theme): void {
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
  store("toolgate-theme", theme === "system" ? undefined : theme);
  selected.set(theme);
}

/** Returns the resolved theme, for content that draws its own colours. */
export function useEffectiveTheme(): "light" | "dark" {
  const prefersDark = useSyncExternalStore(onSchemeChange, () => darkScheme.matches);
  const theme = useTheme();
  return theme === "system" ? (prefersDark ? "dark" : "light") : theme;
}

function onSchemeChange(listener: () => void): () => void {
  darkScheme.addEventListener("change", listener);
  return () => darkScheme.removeEventListener("change", listener);
}
