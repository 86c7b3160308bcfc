/** The theme; `system` follows the operating system. */
export type Theme = "system" | "light" | "dark";

const KEY = "toolgate-theme";
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

export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

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

/** Calls the listener after each selection. @returns the end of it */
export function onThemeSelected(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
