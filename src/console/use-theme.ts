import { useSyncExternalStore } from "react";
import { onThemeSelected, selectedTheme, type Theme } from "./theme.ts";

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

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
  const end = onThemeSelected(listener);
  darkScheme.addEventListener("change", listener);
  return () => {
    end();
    darkScheme.removeEventListener("change", listener);
  };
}
